import type { Millis } from "#lib/base/index.ts";
import type { CounterSeries, FamilyOf, HistogramSeries, Metrics } from "#kernel/kit/index.ts";
import type { Store, StoreStats } from "../store/store.ts";
import type { EventLoopLag } from "./event-loop-lag.ts";
import type { InFlight } from "./in-flight.ts";
import type { WatchMeter } from "./watch-reply.ts";

/** Values come from bounded sets: verbs, codes and kinds of this server, or `other`. */
export interface RequestLabels {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly code: string;
}

export class RequestMetrics {
  readonly #requests: FamilyOf<CounterSeries>;
  readonly #durations: FamilyOf<HistogramSeries>;

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter("slipway_apiserver_requests_total", "Requests answered.");
    this.#durations = metrics.histogram(
      "slipway_apiserver_request_duration_seconds",
      "Time from the request's headers to the end of its handler.",
    );
  }

  /** A watch counts when it begins. */
  record(labels: RequestLabels, duration: Millis): void {
    const { verb, resource } = labels;
    this.#requests.series({ ...labels }).add();
    this.#durations.series({ verb, resource }).observe(duration / 1000);
  }
}

export interface MetricSources {
  readonly inFlight: InFlight;
  readonly watchMeter: WatchMeter;
  readonly readers: { readonly cut: number };
  readonly store: Pick<Store, "stats">;
  readonly lag: Pick<EventLoopLag, "read">;
  readonly version: string;
}

export function addAuditMetrics(metrics: Metrics, audit: { readonly dropped: number }): void {
  metrics.readCounter("slipway_apiserver_audit_dropped_total", "Lines missing in the audit log.", () => audit.dropped);
}

export function addServerMetrics(
  metrics: Metrics,
  { inFlight, watchMeter, readers, store, lag, version }: MetricSources,
): void {
  metrics.gauge("slipway_apiserver_inflight", "Requests under way.", () => [
    { labels: { kind: "mutating" }, value: inFlight.counts.mutating },
    { labels: { kind: "reading" }, value: inFlight.counts.reading },
    { labels: { kind: "stream" }, value: inFlight.counts.stream },
  ]);
  metrics.gauge("slipway_apiserver_watchers", "Watches under way.", () =>
    [...inFlight.watchesByResource].map(([resource, value]) => ({ labels: { resource }, value })),
  );
  metrics.readCounter("slipway_apiserver_watch_events_total", "Events sent to watchers.", () => watchMeter.events);
  metrics.readCounter("slipway_apiserver_watch_dropped_total", "Watches cut off, by why.", () => [
    { labels: { reason: "slow" }, value: watchMeter.dropped },
  ]);
  metrics.readCounter("slipway_apiserver_readers_cut_total", "Answers cut off, not read.", () => readers.cut);
  metrics.gauge("slipway_eventloop_lag_seconds", "Delay of the event loop since the last look.", () => lag.read());
  metrics.gauge("slipway_build_info", "The version that runs.", () => [{ labels: { version }, value: 1 }]);
  addStoreMetrics(metrics, () => store.stats());
}

function addStoreMetrics(metrics: Metrics, stats: () => StoreStats): void {
  const gauge = (noun: string, help: string, valueOf: (now: StoreStats) => number): void =>
    metrics.gauge(`slipway_store_${noun}`, help, () => valueOf(stats()));
  const counter = (noun: string, help: string, valueOf: (now: StoreStats) => number): void =>
    metrics.readCounter(`slipway_store_${noun}_total`, help, () => valueOf(stats()));
  gauge("revision", "Last published revision.", ({ revision }) => revision);
  gauge("compacted", "Oldest revision a watch can start from.", ({ compacted }) => compacted);
  gauge("objects", "Objects stored.", ({ objects }) => objects);
  gauge("bytes", "JSON bytes of all objects.", ({ bytes }) => bytes);
  gauge("cache_bytes", "Reckoned bytes of parsed objects kept.", ({ cacheBytes }) => cacheBytes);
  gauge("ring_events", "Events kept for watches that resume.", ({ ringEvents }) => ringEvents);
  gauge("ring_bytes", "Bytes of the events kept.", ({ ringBytes }) => ringBytes);
  gauge("batch_size", "Writes of the last commit.", ({ lastBatch }) => lastBatch);
  counter("commits", "Commits made durable.", ({ commits }) => commits);
  counter("writes", "Writes of objects made durable.", ({ writes }) => writes);
  counter("commit_failures", "Commits that failed.", ({ failedCommits }) => failedCommits);
  counter("checkpoints", "Times the tables took what the redo log held.", ({ checkpoints }) => checkpoints);
  gauge("redo_bytes", "Bytes of the redo log that a start would replay.", ({ redoBytes }) => redoBytes);
  counter("compactions", "Times the history was cut.", ({ compactions }) => compactions);
  counter("forced_compactions", "Compactions forced by a limit.", ({ forcedCompactions }) => forcedCompactions);
  metrics.readHistogram("slipway_store_commit_duration_seconds", "Time until a commit is on the disk.", () => {
    const { commitSeconds, commitSecondsSum } = stats();
    return [{ labels: {}, buckets: commitSeconds, sum: commitSecondsSum }];
  });
}
