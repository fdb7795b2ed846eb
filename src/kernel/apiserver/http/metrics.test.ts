import { describe, expect, test } from "vitest";
import { Metrics, type Sample } from "#kernel/kit/index.ts";
import type { StoreStats } from "../store/store.ts";
import { defaultLimits } from "../verbs/limits.ts";
import { InFlight } from "./in-flight.ts";
import { addServerMetrics, RequestMetrics } from "./metrics.ts";

const stats: StoreStats = {
  revision: 12,
  compacted: 3,
  objects: 5,
  bytes: 600,
  ringEvents: 9,
  ringBytes: 900,
  cacheBytes: 70,
  commits: 4,
  writes: 8,
  lastBatch: 2,
  commitSeconds: [
    { upTo: 0.001, count: 3 },
    { upTo: Number.POSITIVE_INFINITY, count: 4 },
  ],
  commitSecondsSum: 0.5,
  failedCommits: 1,
  compactions: 6,
  forcedCompactions: 7,
  redoBytes: 4_096,
  checkpoints: 13,
};

const samplesOf = (metrics: Metrics, name: string): readonly Sample[] => {
  const family = metrics.collect().find((candidate) => candidate.name === name);
  return family !== undefined && family.type !== "histogram" ? family.samples : [];
};

describe("requests", () => {
  const request = { verb: "get", resource: "pods", subresource: "", code: "200" };

  test("are counted by what they were, and timed by verb and kind", () => {
    const metrics = new Metrics();
    const requests = new RequestMetrics(metrics);
    requests.record(request, 4);
    requests.record(request, 40);
    requests.record({ ...request, code: "404" }, 4);
    requests.record({ ...request, subresource: "log" }, 4);
    expect(samplesOf(metrics, "slipway_apiserver_requests_total")).toEqual([
      { labels: request, value: 2 },
      { labels: { ...request, code: "404" }, value: 1 },
      { labels: { ...request, subresource: "log" }, value: 1 },
    ]);
    const [durations] = metrics.collect().filter(({ name }) => name.endsWith("duration_seconds"));
    expect(durations?.type === "histogram" && durations.distributions).toMatchObject([
      { labels: { verb: "get", resource: "pods" }, sum: expect.closeTo(0.052) },
    ]);
  });

  test("of very many kinds are counted, the later ones together", () => {
    const metrics = new Metrics();
    const requests = new RequestMetrics(metrics);
    for (let kind = 0; kind < 1100; kind++) requests.record({ ...request, resource: `kind${kind}` }, 1);
    const samples = samplesOf(metrics, "slipway_apiserver_requests_total");
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(1100);
    expect(samples.at(-1)).toEqual({
      labels: { verb: "other", resource: "other", subresource: "other", code: "other" },
      value: 100,
    });
  });
});

describe("what a server tells of itself", () => {
  const inFlight = new InFlight(defaultLimits);
  const watchMeter = { open: 3, events: 11, dropped: 2 };
  const metrics = new Metrics();
  addServerMetrics(metrics, {
    inFlight,
    watchMeter,
    readers: { cut: 3 },
    store: { stats: () => stats },
    lag: { read: () => [{ labels: { quantile: "1" }, value: 0.25 }] },
    version: "1.2.3",
  });

  test.each([
    ["slipway_store_revision", 12],
    ["slipway_store_compacted", 3],
    ["slipway_store_objects", 5],
    ["slipway_store_bytes", 600],
    ["slipway_store_ring_events", 9],
    ["slipway_store_ring_bytes", 900],
    ["slipway_store_cache_bytes", 70],
    ["slipway_store_batch_size", 2],
    ["slipway_store_commits_total", 4],
    ["slipway_store_writes_total", 8],
    ["slipway_store_commit_failures_total", 1],
    ["slipway_store_compactions_total", 6],
    ["slipway_store_checkpoints_total", 13],
    ["slipway_store_redo_bytes", 4_096],
    ["slipway_store_forced_compactions_total", 7],
    ["slipway_apiserver_watch_events_total", 11],
  ])("%s is %d", (name, value) => {
    expect(samplesOf(metrics, name)).toEqual([{ labels: {}, value }]);
  });

  test("has the names of the specification, and no others twice", () => {
    const names = metrics.collect().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, type } of metrics.collect()) expect(name.endsWith("_total")).toBe(type === "counter");
  });

  test("follows what is under way", () => {
    const leave = inFlight.enter("watch", { user: "a", resource: "pods" });
    inFlight.enter("watch", { user: "a", resource: "pods" });
    const write = inFlight.enter("mutating", { user: "a", resource: "pods" });
    expect(samplesOf(metrics, "slipway_apiserver_watchers")).toEqual([{ labels: { resource: "pods" }, value: 2 }]);
    expect(samplesOf(metrics, "slipway_apiserver_inflight")).toEqual([
      { labels: { kind: "mutating" }, value: 1 },
      { labels: { kind: "reading" }, value: 0 },
      { labels: { kind: "stream" }, value: 0 },
    ]);
    leave();
    write();
    expect(samplesOf(metrics, "slipway_apiserver_watchers")).toEqual([{ labels: { resource: "pods" }, value: 1 }]);
  });

  test("takes the distribution of commits as the store has it", () => {
    const family = metrics.collect().find(({ name }) => name === "slipway_store_commit_duration_seconds");
    expect(family?.type === "histogram" && family.distributions).toEqual([
      { labels: {}, buckets: stats.commitSeconds, sum: 0.5 },
    ]);
  });

  test("names its version, why watches were cut, and how late the loop is", () => {
    expect(samplesOf(metrics, "slipway_build_info")).toEqual([{ labels: { version: "1.2.3" }, value: 1 }]);
    expect(samplesOf(metrics, "slipway_apiserver_watch_dropped_total")).toEqual([
      { labels: { reason: "slow" }, value: 2 },
    ]);
    expect(samplesOf(metrics, "slipway_eventloop_lag_seconds")).toEqual([{ labels: { quantile: "1" }, value: 0.25 }]);
  });
});
