import { expect, test } from "vitest";
import { advance, createRunCache, newRun, type Plan, type RunState } from "./index.ts";
import { failed, gone, phases, plan, type StepLine, succeeded } from "./testing/build.ts";

const startsOf = (of: Plan, run: RunState, ...facts: Parameters<typeof advance>[2]) =>
  advance(of, run, facts, 10)
    .effects.filter(({ kind }) => kind === "start")
    .map(({ step }) => step);

const row = (...ids: string[]): StepLine[] => ids.map((id) => ({ id }));
const two = { policy: { strategy: "Continue", parallelism: 2 } } as const;

test("without a limit everything that is ready starts at once, in topological order", () => {
  expect(startsOf(plan(row("c", "a", "b")), newRun)).toEqual(["c", "a", "b"]);
});

test("within a limit the higher priority starts first, then the earlier in the order", () => {
  const of = plan([{ id: "a" }, { id: "b", priority: 5 }, { id: "c" }, { id: "d", priority: 5 }], two);
  const { run } = advance(of, newRun, [], 1);
  expect(phases(run)).toEqual({ a: "Waiting(Ready)", b: "Starting", c: "Waiting(Ready)", d: "Starting" });
  expect(startsOf(of, run, succeeded("d"))).toEqual(["a", "b"]);
});

test("what ends frees its slot; what is being cancelled holds it until it is gone", () => {
  const of = plan(row("a", "b", "c"), two);
  const { run } = advance(of, newRun, [], 1);
  const cancelling = advance(of, run, [{ kind: "action", action: "cancel", step: "a" }], 2).run;
  expect(phases(cancelling)).toMatchObject({ a: "Cancelling(StepCanceled)", c: "Waiting(Ready)" });
  expect(startsOf(of, cancelling, gone("a"))).toEqual(["b", "c"]);
});

test("approvals, timers, references and groups hold no slot", () => {
  const of = plan(
    [
      { id: "a" },
      { id: "b" },
      { id: "ask", kind: "approval" },
      { id: "see", kind: "observe" },
      { id: "wait", kind: "timer", due: () => ({ after: 5 }) },
      { id: "g", kind: "group", group: plan(row("x")) },
    ],
    two,
  );
  expect(phases(advance(of, newRun, [], 1).run)).toEqual({
    a: "Starting",
    b: "Starting",
    ask: "Suspended",
    see: "Starting",
    wait: "Waiting(Timer)",
    g: "Running",
    "g/x": "Waiting(Ready)",
  });
});

test("a group's own limit holds its steps back without holding back others", () => {
  const inner = plan(row("x", "y", "z"), { policy: { strategy: "Continue", parallelism: 1 } });
  const of = plan([{ id: "g", kind: "group", group: inner }, ...row("a", "b")], {
    policy: { strategy: "Continue", parallelism: 4 },
  });
  const { run } = advance(of, newRun, [], 1);
  expect(phases(run)).toMatchObject({ "g/x": "Starting", "g/y": "Waiting(Ready)", a: "Starting", b: "Starting" });
  expect(startsOf(of, run, succeeded("g/x"))).toEqual(["g/y", "a", "b"]);
});

test("a retry queues again behind what is ready", () => {
  const of = plan(
    [
      { id: "b", retry: { limit: 1, delay: () => 0 } },
      { id: "a", priority: 1 },
    ],
    {
      policy: { strategy: "Continue", parallelism: 1 },
    },
  );
  const cache = createRunCache();
  let { run } = advance(of, newRun, [{ kind: "grant", step: "a", granted: true }], 1, cache);
  expect(phases(run)).toEqual({ b: "Waiting(Ready)", a: "Starting" });
  run = advance(of, run, [succeeded("a")], 2, cache).run;
  run = advance(of, run, [failed("b")], 3, cache).run;
  expect(run.steps["b"]).toMatchObject({ phase: "Starting", attempt: 2 });
});

test("a limit that grows while the run goes on counts from the next call", () => {
  const narrow = plan(row("a", "b", "c"), { policy: { strategy: "Continue", parallelism: 1 } });
  const cache = createRunCache();
  const { run } = advance(narrow, newRun, [], 1, cache);
  const wide: Plan = { ...narrow, policy: { strategy: "Continue", parallelism: 3 } };
  expect(advance(wide, run, [], 2, cache).effects.map(({ step }) => step)).toEqual(["a", "b", "c"]);
});
