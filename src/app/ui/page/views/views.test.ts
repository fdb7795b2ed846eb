import { expect, test } from "vitest";
import { matchPath } from "../data/path.ts";
import { formatRelative, formatSpan } from "../data/time.ts";
import { windowOf } from "../parts/virtual.tsx";
import { foundRows, treeRows } from "./step-tree.ts";
import { compareSteps, specPart } from "./compare-steps.ts";
import { axisEnd, formatTick, scaleOf, ticksOf, timelineRows } from "./timeline.ts";

test("steps stand below their group, whether it is a step or only a name", () => {
  const steps = [
    { id: "a", name: "a" },
    { id: "s/x", name: "x", group: "stage" },
    { id: "s/y", name: "y", group: "stage" },
  ];
  expect(treeRows(steps, new Set()).map(({ label, level, isOpen }) => [label, level, isOpen])).toEqual([
    ["a", 1, undefined],
    ["stage", 1, true],
    ["x", 2, undefined],
    ["y", 2, undefined],
  ]);
  expect(treeRows(steps, new Set(["group:stage"]))).toHaveLength(2);
});

test("a filter leaves steps by words and phases, told with their group", () => {
  const steps = [
    { id: "a", name: "a", phase: "Succeeded" as const },
    { id: "stage/unit", name: "unit", group: "stage", phase: "Failed" as const },
    { id: "stage/lint", name: "lint", group: "stage", phase: "Succeeded" as const },
  ];
  const labels = (text: string, ...phases: readonly string[]) =>
    foundRows(steps, { text, phases }).map(({ label, position, setSize }) => `${label} ${position}/${setSize}`);
  expect(labels("stage")).toEqual(["stage / unit 1/2", "stage / lint 2/2"]);
  expect(labels("", "Failed")).toEqual(["stage / unit 1/1"]);
  expect(labels("LINT stage", "Failed")).toEqual([]);
});

const base = { dependencies: [], phase: "Succeeded" } as const;

test("a step waits from the end of what it depends on", () => {
  const steps = [
    { ...base, id: "a", name: "a", startedAt: 0, finishedAt: 10 },
    { ...base, id: "b", name: "b", dependencies: ["a"], startedAt: 15, phase: "Running" as const },
    { ...base, id: "c", name: "c", dependencies: ["b"], phase: "Pending" as const },
  ];
  expect(timelineRows(steps, 0, 20).map(({ bars }) => bars.map(({ from, to, tone }) => [from, to, tone]))).toEqual([
    [[0, 10, "ended"]],
    [
      [10, 15, "waiting"],
      [15, 20, "running"],
    ],
    [],
  ]);
});

test("each attempt has its own bar, and what lies between them is waiting", () => {
  const step = {
    ...base,
    id: "a",
    name: "a",
    startedAt: 0,
    finishedAt: 60,
    attemptAt: 50,
    earlier: [
      { attempt: 1, startedAt: 0, finishedAt: 10 },
      { attempt: 2, finishedAt: 30 },
    ],
  };
  expect(timelineRows([step], 0, 60)[0]?.bars).toEqual([
    { from: 0, to: 10, tone: "ended", attempt: 1 },
    { from: 10, to: 30, tone: "ended", attempt: 2 },
    { from: 30, to: 50, tone: "waiting" },
    { from: 50, to: 60, tone: "ended" },
  ]);
  const { finishedAt: _, ...unfinished } = step;
  const waits = timelineRows([{ ...unfinished, phase: "Waiting" }], 0, 45)[0]?.bars.at(-1);
  expect(waits).toEqual({ from: 30, to: 45, tone: "waiting" });
});

test("a step whose container is held up is starting, whatever its object says", () => {
  const step = { ...base, id: "a", name: "a", phase: "Running" as const, startedAt: 0 };
  const holdUp = { reason: "ImagePullBackOff", message: "no such image", needsHelp: true };
  expect(timelineRows([step], 0, 60)[0]?.bars).toEqual([{ from: 0, to: 60, tone: "running" }]);
  expect(timelineRows([{ ...step, holdUp }], 0, 60)[0]?.bars).toEqual([{ from: 0, to: 60, tone: "starting" }]);
});

test("a deadline that is near is on the axis, one that is far does not squeeze the run", () => {
  expect(axisEnd(0, 100, 130)).toBeGreaterThan(130);
  expect(axisEnd(0, 100, 1000)).toBeLessThan(110);
  expect(axisEnd(0, 100, undefined)).toBeGreaterThan(100);
});

test("steps of two runs are compared by id, with how much longer they take and what is different", () => {
  const step = { id: "a", name: "a", phase: "Succeeded", startedAt: 0, finishedAt: 10, attempt: 1 } as const;
  expect(
    compareSteps(
      [step, { ...step, id: "gone", name: "gone" }],
      [{ ...step, finishedAt: 25, attempt: 2, outputs: { n: 1 } }],
    ),
  ).toMatchObject([
    { id: "a", moreMs: 15, changed: ["attempt", "outputs"] },
    { id: "gone", left: { phase: "Succeeded", ms: 10 }, changed: [] },
  ]);
});

test("of an object's YAML the specification is compared", () => {
  expect(specPart("apiVersion: v1\nspec:\n  a: 1\n  b:\n    - c\nstatus: {}\n")).toBe("spec:\n  a: 1\n  b:\n    - c");
  expect(specPart("kind: X\nspec:\n  a: 1\n")).toBe("spec:\n  a: 1\n");
  expect(specPart("kind: X\n")).toBe("");
});

test("idle time is folded if asked for, and time never goes back", () => {
  const rows = timelineRows(
    [
      { ...base, id: "a", name: "a", startedAt: 0, finishedAt: 10 },
      { ...base, id: "b", name: "b", startedAt: 990, finishedAt: 1000 },
    ],
    0,
    1000,
  );
  expect(scaleOf(rows, 0, 1000, false).at(500)).toBe(0.5);
  const folded = scaleOf(rows, 0, 1000, true);
  expect(folded.folds).toMatchObject([{ left: 980 }]);
  expect(folded.at(10)).toBeGreaterThan(0.4);
  const places = [0, 10, 500, 990, 1000].map(folded.at);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test("marks of the axis are round and few", () => {
  expect(ticksOf(120_000, 8)).toEqual([0, 15_000, 30_000, 45_000, 60_000, 75_000, 90_000, 105_000, 120_000]);
  expect(ticksOf(0, 8)).toEqual([0]);
  expect([0, 200, 1500, 2000, 300_000, 5_400_000].map(formatTick)).toEqual(["0", "0.2s", "1.5s", "2s", "5m", "1h 30m"]);
});

test("durations have two units, relative times one", () => {
  expect([400, 12_000, 185_000, 8_040_000, 450_000_000].map(formatSpan)).toEqual([
    "0.4s",
    "12s",
    "3m 05s",
    "2h 14m",
    "5d 05h",
  ]);
  expect(formatRelative(0, 61_000)).toBe("1m ago");
  expect(formatRelative(7_200_000, 0)).toBe("in 2h");
});

test("paths match patterns, decoded", () => {
  expect(matchPath("/runs/:dialect/:name", "/runs/wharf/a%2Fb")).toEqual({ dialect: "wharf", name: "a/b" });
  expect(matchPath("/fleet/*", "/fleet/a/b")).toEqual({ rest: "a/b" });
  expect(matchPath("/fleet/*", "/fleet")).toEqual({ rest: "" });
  expect(matchPath("/runs", "/runs/x")).toBeUndefined();
});

test("of a long list the rows in sight are drawn, and some around them", () => {
  expect(windowOf(3600, 360, 36, 10_000)).toEqual({ first: 88, end: 122 });
  expect(windowOf(0, 360, 36, 3)).toEqual({ first: 0, end: 3 });
});
