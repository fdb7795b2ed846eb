import { expect, test } from "vitest";
import type { Benchmark, Bound, Line, Measured, Role, Series } from "./types.ts";
import { judge, verdictOf } from "./verdict.ts";

const rate = ({ ops, ms }: Measured): number => (ops / ms) * 1000;

function series(name: string, role: Role, ops: readonly number[], isNoisy = false): Series {
  const windows = ops.map((count) => ({ ops: count, ms: 1000, cpuUs: count * 10 }));
  return { source: { name, role, start: () => Promise.reject(new Error("not started here")) }, windows, isNoisy };
}

const line: Line = {
  metric: "writes",
  unit: "/s",
  better: "more",
  value: rate,
  ours: "ours",
  floor: "log",
  hold: [{ to: "best peer", ratio: 2 }],
  goal: [
    { to: "best peer", ratio: 4 },
    { to: "log", ratio: 0.1 },
  ],
};
const benchmark: Benchmark = { id: "B0", title: "", candidates: [], lines: [line] };

const judged = (all: readonly Series[], changes: Partial<Line> = {}) => judge(benchmark, { ...line, ...changes }, all);

test("the best peer is the one with the best median", () => {
  const all = [series("ours", "ours", [40]), series("slow", "peer", [5, 30, 6]), series("fast", "peer", [10, 9, 11])];
  expect(judged(all)?.peer?.name).toBe("fast");
  expect(judged(all)?.ratioPeer).toBe(4);
  expect(judged(all, { better: "less" })?.peer?.name).toBe("slow");
});

test("a line with a peer of its own is not compared with others", () => {
  const all = [series("ours", "ours", [40]), series("etcd", "peer", [10]), series("other", "peer", [100])];
  expect(judged(all, { peers: ["etcd"] })?.ratioPeer).toBe(4);
  expect(judged(all, { peers: [] })?.peer).toBeUndefined();
});

test("CPU is told per operation of the line", () => {
  expect(judged([series("ours", "ours", [40, 50, 60])])?.cpuUs).toBe(10);
  expect(judged([series("ours", "ours", [40])], { perOp: 5 })?.cpuUs).toBe(2);
});

test.each([
  [19, "below"],
  [20, "holds"],
  [39, "holds"],
  [40, "goal"],
] as const)("%d against a peer of 10 and a floor of 400 is %s", (ours, verdict) => {
  const all = [series("ours", "ours", [ours]), series("peer", "peer", [10]), series("log", "floor", [400])];
  expect(judged(all)?.verdict).toBe(verdict);
});

test("a goal that is met against one and missed against another is not reached", () => {
  const all = [series("ours", "ours", [40]), series("peer", "peer", [10]), series("log", "floor", [401])];
  expect(judged(all)?.verdict).toBe("holds");
});

test("without the peer nothing is said of a bound to it", () => {
  const all = [series("ours", "ours", [40]), series("log", "floor", [400])];
  expect(judged(all)?.verdict).toBe("untold");
  expect(judged(all)?.ratioPeer).toBeNaN();
});

test("of a figure that should be small, the smaller ratio is the better one", () => {
  const bounds = { better: "less", hold: [{ to: "peer", ratio: 0.5 }], goal: [{ ratio: 15 }] } as const;
  const limit = ({ to, ratio }: Bound) => (to === undefined ? ratio : ratio * 40);
  expect(verdictOf(bounds, 21, limit)).toBe("below");
  expect(verdictOf(bounds, 20, limit)).toBe("holds");
  expect(verdictOf(bounds, 15, limit)).toBe("goal");
});

test("every bound that is known has to hold, and a bound may allow a constant on top of another's figure", () => {
  const all = [series("ours", "ours", [40]), series("log", "floor", [60])];
  const hold = (...bounds: readonly Bound[]) => judged(all, { hold: bounds, goal: [] });
  expect(hold({ ratio: 40 }, { to: "log", ratio: 0.5 })?.verdict).toBe("holds");
  expect(hold({ ratio: 41 }, { to: "log", ratio: 0.5 })?.verdict).toBe("below");
  expect(hold({ ratio: 40 }, { to: "absent", ratio: 9 })?.verdict).toBe("untold");
  expect(hold({ to: "log", ratio: 0.5, plus: 10 })?.verdict).toBe("holds");
  expect(hold({ to: "log", ratio: 0.5, plus: 11 })?.verdict).toBe("below");
  expect(hold({ to: "log", ratio: 0.5, plus: 11 })?.hold).toBe(">= 0.5x log + 11 /s");
});

test("a disturbed window of ours or of the best peer marks the line, one of another candidate does not", () => {
  const quiet = series("ours", "ours", [40]);
  expect(judged([quiet, series("peer", "peer", [10], true)])?.isNoisy).toBe(true);
  expect(judged([quiet, series("peer", "peer", [10]), series("worse", "peer", [1], true)])?.isNoisy).toBe(false);
});

test("a line whose program was not measured is left out", () => {
  expect(judged([series("peer", "peer", [10])])).toBeUndefined();
});
