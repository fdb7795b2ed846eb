import type { Registry } from "prom-client";
import type { Millis } from "#lib/base/index.ts";
import type { InFlight } from "./in-flight.ts";
import type { WatchMeter } from "./watch-reply.ts";

/** Labels of a finished request. Values come from bounded sets: unknown resources are `other`. */
export interface RequestLabels {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly code: string;
}

/** What metrics are read from. */
export interface MetricSources {
  readonly inFlight: InFlight;
  readonly watchMeter: WatchMeter;
  readonly revision: () => number;
  readonly compactedRevision: () => number;
  readonly objects: () => number;
  readonly version: string;
}

// Distinct label sets kept; later ones are counted under `other`.
const maxSeries = 2000;
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Series {
  readonly labels: RequestLabels;
  count: number;
}

/**
 * Counts requests from the start. The library that formats metrics is loaded when they are first asked for, and durations are
 * observed from then on.
 */
export class RequestMetrics {
  readonly #sources: MetricSources;
  readonly #series = new Map<string, Series>();
  #observe: ((labels: Pick<RequestLabels, "verb" | "resource">, seconds: number) => void) | undefined;
  #registry: Promise<Registry> | undefined;

  constructor(sources: MetricSources) {
    this.#sources = sources;
  }

  record(labels: RequestLabels, duration: Millis): void {
    this.#observe?.({ verb: labels.verb, resource: labels.resource }, duration / 1000);
    const key = `${labels.verb}|${labels.resource}|${labels.subresource}|${labels.code}`;
    const known = this.#series.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#series.size < maxSeries) this.#series.set(key, { labels, count: 1 });
  }

  /** The Prometheus text. */
  async render(): Promise<string> {
    this.#registry ??= this.#load();
    return (await this.#registry).metrics();
  }

  async #load(): Promise<Registry> {
    const { Counter, Gauge, Histogram, Registry } = await import("prom-client");
    const registry = new Registry();
    const registers = [registry];
    const series = this.#series;
    const { inFlight, watchMeter, revision, compactedRevision, objects, version } = this.#sources;
    new Counter({
      name: "slipway_apiserver_requests_total",
      help: "Requests answered.",
      labelNames: ["verb", "resource", "subresource", "code"],
      registers,
      collect() {
        this.reset();
        for (const { labels, count } of series.values()) this.inc({ ...labels }, count);
      },
    });
    const durations = new Histogram({
      name: "slipway_apiserver_request_duration_seconds",
      help: "Time from the request's headers to the end of its answer, watches left out.",
      labelNames: ["verb", "resource"],
      buckets,
      registers,
    });
    this.#observe = (labels, seconds) => durations.observe(labels, seconds);
    const gauge = (name: string, help: string, value: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(value());
        },
      });
    gauge("slipway_apiserver_inflight_mutating", "Writes under way.", () => inFlight.counts.mutating);
    gauge("slipway_apiserver_inflight_reading", "Reads under way.", () => inFlight.counts.reading);
    gauge("slipway_apiserver_watchers", "Watches under way.", () => inFlight.counts.watch);
    gauge("slipway_apiserver_watch_events_total", "Events sent to watchers.", () => watchMeter.events);
    gauge("slipway_apiserver_watch_dropped_total", "Watchers cut because they did not read.", () => watchMeter.dropped);
    gauge("slipway_store_revision", "Last published revision.", revision);
    gauge("slipway_store_compacted", "Oldest revision a watch can start from.", compactedRevision);
    gauge("slipway_store_objects", "Objects stored.", objects);
    new Gauge({ name: "slipway_build_info", help: "The version that runs.", labelNames: ["version"], registers }).set(
      { version },
      1,
    );
    return registry;
  }
}
