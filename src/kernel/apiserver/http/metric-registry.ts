// Loaded when metrics are first asked for: few ask, and the library is not free.
import { Counter, Gauge, Histogram, type Metric, Registry } from "prom-client";
import type { MetricSources, ObserveDuration, Series } from "./metrics.ts";

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics that read their values when they are asked for; only durations have to be observed. */
export function makeRegistry(
  sources: MetricSources,
  series: () => Iterable<Series>,
): { readonly registry: Registry; readonly observe: ObserveDuration } {
  const registry = new Registry();
  const durations = new Histogram({
    name: "slipway_apiserver_request_duration_seconds",
    help: "Time from the request's headers to the end of its handler.",
    labelNames: ["verb", "resource"],
    buckets,
    registers: [],
  });
  for (const metric of [requestCounter(series), durations, ...gauges(sources), buildInfo(sources.version)]) {
    registry.registerMetric(metric);
  }
  return { registry, observe: (labels, seconds) => durations.observe(labels, seconds) };
}

function requestCounter(series: () => Iterable<Series>): Metric {
  return new Counter({
    name: "slipway_apiserver_requests_total",
    help: "Requests answered.",
    labelNames: ["verb", "resource", "subresource", "code"],
    registers: [],
    collect() {
      this.reset();
      for (const { labels, count } of series()) this.inc({ ...labels }, count);
    },
  });
}

function gauges({ inFlight, watchMeter, ...store }: MetricSources): readonly Metric[] {
  return [
    gauge("slipway_apiserver_inflight_mutating", "Writes under way.", () => inFlight.counts.mutating),
    gauge("slipway_apiserver_inflight_reading", "Reads under way.", () => inFlight.counts.reading),
    gauge("slipway_apiserver_watchers", "Watches under way.", () => inFlight.counts.watch),
    gauge("slipway_apiserver_watch_events_total", "Events sent to watchers.", () => watchMeter.events),
    gauge("slipway_apiserver_watch_dropped_total", "Watchers cut for not reading.", () => watchMeter.dropped),
    gauge("slipway_store_revision", "Last published revision.", store.revision),
    gauge("slipway_store_compacted", "Oldest revision a watch can start from.", store.compactedRevision),
    gauge("slipway_store_objects", "Objects stored.", store.objects),
  ];
}

function gauge(name: string, help: string, value: () => number): Metric {
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(value());
    },
  });
}

function buildInfo(version: string): Metric {
  const info = new Gauge({
    name: "slipway_build_info",
    help: "The version that runs.",
    labelNames: ["version"],
    registers: [],
  });
  info.set({ version }, 1);
  return info;
}
