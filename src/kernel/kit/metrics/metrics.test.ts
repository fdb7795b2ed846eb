import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { durationBuckets, type MetricFamily, Metrics } from "./metrics.ts";

const familyOf = (metrics: Metrics, name: string): MetricFamily | undefined =>
  metrics.collect().find((family) => family.name === name);

function samplesOf(metrics: Metrics, name: string) {
  const family = familyOf(metrics, name);
  return family !== undefined && family.type !== "histogram" ? family.samples : [];
}

function distributionsOf(metrics: Metrics, name: string) {
  const family = familyOf(metrics, name);
  return family?.type === "histogram" ? family.distributions : [];
}

describe("counters", () => {
  test("add up by their labels", () => {
    const metrics = new Metrics();
    const counter = metrics.counter("slipway_x_total", "Some.");
    counter.series({ kind: "a" }).add();
    counter.series({ kind: "b" }).add(3);
    counter.series({ kind: "a" }).add(2);
    expect(samplesOf(metrics, "slipway_x_total")).toEqual([
      { labels: { kind: "a" }, value: 3 },
      { labels: { kind: "b" }, value: 3 },
    ]);
  });

  test("without labels are one number", () => {
    const metrics = new Metrics();
    const counter = metrics.counter("slipway_x_total", "Some.");
    counter.series().add();
    counter.series({}).add();
    expect(samplesOf(metrics, "slipway_x_total")).toEqual([{ labels: {}, value: 2 }]);
  });

  test("keep labels apart whose values run together", () => {
    const metrics = new Metrics();
    const counter = metrics.counter("slipway_x_total", "Some.");
    counter.series({ a: "x", b: "yz" }).add();
    counter.series({ a: "xy", b: "z" }).add();
    expect(samplesOf(metrics, "slipway_x_total")).toHaveLength(2);
  });

  test("count what is too much of different labels together, and lose nothing", () => {
    const metrics = new Metrics();
    const counter = metrics.counter("slipway_x_total", "Some.");
    for (let at = 0; at < 1500; at++) counter.series({ name: `n${at}`, verb: "get" }).add();
    counter.series({ name: "n0", verb: "get" }).add();
    const samples = samplesOf(metrics, "slipway_x_total");
    expect(samples).toHaveLength(1001);
    expect(samples[0]).toEqual({ labels: { name: "n0", verb: "get" }, value: 2 });
    expect(samples.at(-1)).toEqual({ labels: { name: "other", verb: "other" }, value: 500 });
  });
});

describe("histograms", () => {
  test("count an observation in the first bucket that holds it and in all after it", () => {
    const metrics = new Metrics();
    const series = metrics.histogram("slipway_x_seconds", "Some.", [1, 2]).series({ kind: "a" });
    for (const value of [0.5, 1, 1.5, 2.5]) series.observe(value);
    expect(distributionsOf(metrics, "slipway_x_seconds")).toEqual([
      {
        labels: { kind: "a" },
        sum: 5.5,
        buckets: [
          { upTo: 1, count: 2 },
          { upTo: 2, count: 3 },
          { upTo: Number.POSITIVE_INFINITY, count: 4 },
        ],
      },
    ]);
  });

  test("pass over what is no number", () => {
    const metrics = new Metrics();
    metrics.histogram("slipway_x_seconds", "Some.", [1]).series().observe(Number.NaN);
    expect(distributionsOf(metrics, "slipway_x_seconds")[0]).toMatchObject({
      sum: 0,
      buckets: [{ count: 0 }, { count: 0 }],
    });
  });

  test("have buckets that ascend to infinity and never fall", () => {
    const values = fc.array(fc.double({ min: -1, max: 500, noNaN: true }), { maxLength: 50 });
    fc.assert(
      fc.property(values, (observed) => {
        const metrics = new Metrics();
        const series = metrics.histogram("slipway_x_seconds", "Some.").series();
        for (const value of observed) series.observe(value);
        const { buckets = [], sum } = distributionsOf(metrics, "slipway_x_seconds")[0] ?? {};
        expect(buckets.map(({ upTo }) => upTo)).toEqual([...durationBuckets, Number.POSITIVE_INFINITY]);
        for (const { upTo, count } of buckets) expect(count).toBe(observed.filter((value) => value <= upTo).length);
        expect(sum).toBeCloseTo(
          observed.reduce((all, value) => all + value, 0),
          6,
        );
      }),
      { numRuns: 50 },
    );
  });
});

describe("what is read when somebody looks", () => {
  test("is as new as the look", () => {
    const metrics = new Metrics();
    let depth = 1;
    metrics.gauge("slipway_depth", "Some.", () => depth);
    metrics.readCounter("slipway_done_total", "Some.", () => [{ labels: { kind: "a" }, value: depth * 10 }]);
    metrics.readHistogram("slipway_took_seconds", "Some.", () => [{ labels: {}, buckets: [], sum: depth }]);
    depth = 2;
    expect(metrics.collect()).toEqual([
      { name: "slipway_depth", help: "Some.", type: "gauge", samples: [{ labels: {}, value: 2 }] },
      { name: "slipway_done_total", help: "Some.", type: "counter", samples: [{ labels: { kind: "a" }, value: 20 }] },
      {
        name: "slipway_took_seconds",
        help: "Some.",
        type: "histogram",
        distributions: [{ labels: {}, buckets: [], sum: 2 }],
      },
    ]);
  });

  test("does not take the others with it when it fails", () => {
    const metrics = new Metrics();
    metrics.gauge("slipway_b", "Some.", () => {
      throw new Error("the file is gone");
    });
    metrics.gauge("slipway_c", "Some.", () => 1);
    expect(metrics.collect().map(({ name }) => name)).toEqual(["slipway_c"]);
  });
});

test("a name is given once", () => {
  const metrics = new Metrics();
  metrics.counter("slipway_x_total", "Some.");
  expect(() => metrics.gauge("slipway_x_total", "Some.", () => 1)).toThrow("there is a metric slipway_x_total already");
});

test.each(["x_total", "slipway_", "slipway_X", "slipway_a-b", "slipway_a b"])("%j is no name of a metric", (name) => {
  expect(() => new Metrics().counter(name, "Some.")).toThrow("is no name of a metric");
});
