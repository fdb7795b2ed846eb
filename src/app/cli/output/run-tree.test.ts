import { expect, test } from "vitest";
import type { RunView, StepView } from "#engine/index.ts";
import { paintFor } from "#kernel/command/index.node.ts";
import { changedLines } from "./run-lines.ts";
import { formatElapsed, renderTree } from "./run-tree.ts";

const step = (id: string, change: Partial<StepView> = {}): StepView => ({
  id,
  name: id,
  phase: "Pending",
  dependencies: [],
  waitingFor: [],
  rank: 0,
  attempt: 0,
  logs: [],
  artifacts: [],
  actions: [],
  ...change,
});

const run = (steps: readonly StepView[], change: Partial<RunView> = {}): RunView => ({
  ref: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", namespace: "default", name: "demo" },
  dialect: "workflow",
  name: "demo",
  phase: "Running",
  nativePhase: "Running",
  createdAt: 0,
  startedAt: 0,
  progress: { done: 1, total: steps.length },
  steps,
  children: [],
  actions: [],
  ...change,
});

const style = { paint: paintFor(false), unicode: true, columns: 80, frame: 0 };

test("a run is a head line, a line per step and the final steps under their heading", () => {
  const view = run([
    step("build", { phase: "Succeeded", startedAt: 0, finishedAt: 400, attempt: 1 }),
    step("test", { phase: "Running", startedAt: 400, attempt: 2, attempts: 3 }),
    step("deploy", { waitingFor: ["test"] }),
    step("report", { final: true }),
  ]);
  expect(renderTree(view, 2400, style)).toEqual([
    "demo  Running  1/4  2.4s",
    "✓ build    0.4s",
    "⠋ test     2.0s  attempt 2/3",
    "· deploy         waits for test",
    "finally",
    "· report",
  ]);
});

test("on a narrow terminal names are cut, and states are not", () => {
  const view = run(
    [
      step("a-step-with-a-name-that-is-longer-than-the-terminal", {
        phase: "Running",
        startedAt: 0,
        attempt: 2,
        attempts: 3,
      }),
      step("short", { phase: "Failed", startedAt: 0, finishedAt: 400, attempt: 1, reason: "Error" }),
    ],
    { name: "a-run-with-a-name-that-is-longer-than-the-terminal" },
  );
  expect(renderTree(view, 2400, { ...style, columns: 40 })).toEqual([
    "a-run-with-a-name-t…  Running  1/2  2.4s",
    "⠋ a-step-with-a-nam…   2.4s  attempt 2/3",
    "✗ short                0.4s  Error",
  ]);
});

test("without unicode only ASCII is drawn and long lines are cut", () => {
  const view = run([
    step("x", { phase: "Failed", startedAt: 0, finishedAt: 1, attempt: 1, reason: "Error", message: "y".repeat(100) }),
  ]);
  const long = { ...view, message: "z".repeat(100) };
  expect(renderTree(long, 10, { ...style, unicode: false, columns: 40 })[0]).toMatch(/^[\x20-\x7e]{40}$/);
  const line = renderTree(view, 10, { ...style, unicode: false, columns: 40 })[1] ?? "";
  expect(line).toMatch(/^[\x20-\x7e]{40}$/);
  expect(line.startsWith("x x   0.0s  Error: yyy")).toBe(true);
});

test("plain lines tell what changed, the start first and the end last", () => {
  const before = run([step("a"), step("b")], { phase: "Pending" });
  const middle = run([step("a", { phase: "Running", attempt: 1, startedAt: 100 }), step("b")]);
  const after = run(
    [step("a", { phase: "Failed", attempt: 1, startedAt: 100, finishedAt: 600, message: "exit code 1" }), step("b")],
    { phase: "Failed", nativePhase: "Failed", finishedAt: 700, message: 'step "a" failed' },
  );
  expect(changedLines(before, middle, 100)).toEqual(["[  0.1s] demo: Running", "[  0.1s] a: Running"]);
  expect(changedLines(middle, after, 700)).toEqual([
    "[  0.7s] a: Failed in 0.5s (exit code 1)",
    '[  0.7s] demo: Failed in 0.7s (step "a" failed)',
  ]);
  expect(changedLines(after, after, 800)).toEqual([]);
});

test("a run that ended says why, also without a message; what its phase says already is not repeated", () => {
  const before = run([]);
  const ended = (change: Partial<RunView>) => run([], { startedAt: 0, finishedAt: 1000, ...change });
  const failed = { phase: "Failed", nativePhase: "Failed" } as const;
  const canceled = { phase: "Canceled", nativePhase: "Canceled", reason: "Canceled" } as const;
  const cases: readonly [Partial<RunView>, string, string][] = [
    [
      { ...failed, reason: "DeadlineExceeded" },
      "Failed in 1.0s (DeadlineExceeded)",
      "Failed  1/0  1.0s  DeadlineExceeded",
    ],
    [
      { ...failed, reason: "StepFailed", message: 'step "a" failed' },
      'Failed in 1.0s (StepFailed: step "a" failed)',
      'Failed  1/0  1.0s  StepFailed: step "a" failed',
    ],
    [canceled, "Canceled in 1.0s", "Canceled  1/0  1.0s"],
    [{ ...canceled, message: "no need" }, "Canceled in 1.0s (no need)", "Canceled  1/0  1.0s  no need"],
  ];
  for (const [change, line, head] of cases) {
    expect(changedLines(before, ended(change), 1000)).toEqual([`[  1.0s] demo: ${line}`]);
    expect(renderTree(ended(change), 1000, style)).toEqual([`demo  ${head}`]);
  }
});

test("elapsed time has a decimal below ten seconds", () => {
  expect([0, 1234, 9999, 12_000, 125_000].map(formatElapsed)).toEqual(["0.0s", "1.2s", "10.0s", "12s", "2m5s"]);
});

test("a run that has not begun is told of when it says why, and again when that is another reason", () => {
  const pending = (message?: string) =>
    run([], {
      phase: "Pending",
      nativePhase: "Pending",
      ...(message === undefined ? {} : { reason: "Queued", message }),
    });
  expect(changedLines(undefined, pending(), 0)).toEqual([]);
  expect(changedLines(pending(), pending("place 2"), 0)).toEqual(["[  0.0s] demo: Pending (Queued: place 2)"]);
  expect(changedLines(pending("place 2"), pending("place 2"), 0)).toEqual([]);
  expect(changedLines(pending("place 2"), pending("place 1"), 0)).toEqual(["[  0.0s] demo: Pending (Queued: place 1)"]);
});

test("what somebody has written in several lines, or with sequences of a terminal, is one line of a picture and of plain lines", () => {
  const wild = step("a", { name: "a\nb", phase: "Failed", reason: "Error", message: "exit code 1\n\u001b[31mred" });
  expect(renderTree(run([wild]), 0, style)).toHaveLength(2);
  expect(changedLines(undefined, run([wild]), 0).join("|")).toContain("a b: Failed (Error: exit code 1 [31mred)");
});
