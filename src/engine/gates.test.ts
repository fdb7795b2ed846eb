import { expect, test } from "vitest";
import {
  advance,
  alwaysGate,
  conditionGate,
  createRunCache,
  defaultGate,
  failureGate,
  type Gate,
  type GateScope,
  newRun,
  type PlanStep,
  type RunState,
  stages,
  buildPlan,
  planStep,
  type StepState,
} from "./index.ts";
import { phases, plan, succeeded } from "./testing/build.ts";

const names = {
  default: { gate: defaultGate },
  success: { gate: conditionGate(false, (scope) => ({ ok: true, value: scope.success() })) },
  failure: { gate: failureGate, afterFailure: true },
  always: { gate: alwaysGate, afterFailure: true },
  condition: { gate: conditionGate(false, () => ({ ok: true, value: true })) },
  "always and false": { gate: conditionGate(true, () => ({ ok: true, value: false })), afterFailure: true },
} satisfies Record<string, Partial<PlanStep>>;

const ends: Record<string, StepState> = {
  Succeeded: { phase: "Succeeded", attempt: 1 },
  Failed: { phase: "Failed", attempt: 1, reason: "Error" },
  Forgiven: { phase: "Failed", attempt: 1, reason: "Error" },
  ConditionFalse: { phase: "Skipped", attempt: 0, reason: "ConditionFalse" },
  DependencyFailed: { phase: "Skipped", attempt: 0, reason: "DependencyFailed" },
  InputUnavailable: { phase: "Skipped", attempt: 0, reason: "InputUnavailable" },
  Canceled: { phase: "Canceled", attempt: 1, reason: "StepCanceled" },
};

/** Phase of `b` with this gate after `a` ended like this. */
function answer(gate: keyof typeof names, end: string): string | undefined {
  const pair = plan([
    { id: "a", onFailure: end === "Forgiven" ? "Continue" : "Fail" },
    { id: "b", after: ["a"], ...names[gate] },
  ]);
  const before: RunState = { ...newRun, phase: "Running", steps: { a: ends[end] ?? { phase: "Pending", attempt: 0 } } };
  return phases(advance(pair, before, [], 1).run)["b"];
}

const runs = "Starting";
const broken = "Skipped(DependencyFailed)";
const unwanted = "Skipped(ConditionFalse)";

test.each([
  ["default", [runs, broken, runs, runs, broken, broken, broken]],
  ["success", [runs, broken, runs, runs, broken, broken, broken]],
  ["condition", [runs, broken, runs, runs, broken, broken, broken]],
  ["failure", [unwanted, runs, unwanted, unwanted, runs, runs, runs]],
  ["always", [runs, runs, runs, runs, runs, runs, runs]],
  ["always and false", [unwanted, unwanted, unwanted, unwanted, unwanted, unwanted, unwanted]],
] as const)(
  "the gate %s over Succeeded, Failed, Forgiven, ConditionFalse, DependencyFailed, InputUnavailable, Canceled",
  (gate, expected) => {
    expect(Object.keys(ends).map((end) => answer(gate, end))).toEqual(expected);
  },
);

test("a condition is not evaluated when a dependency is bad", () => {
  let asked = 0;
  const gate = conditionGate(false, () => {
    asked++;
    return { ok: true, value: true };
  });
  const pair = plan([{ id: "a" }, { id: "b", after: ["a"], gate }]);
  advance(pair, { ...newRun, steps: { a: ends["Failed"] as StepState } }, [], 1);
  expect(asked).toBe(0);
});

test("a gate is asked once, when the last dependency settles", () => {
  const asked: string[] = [];
  const gate: Gate = (scope) => {
    asked.push(
      scope
        .dependencies()
        .map(({ state }) => state.phase)
        .join(),
    );
    return { run: true };
  };
  const join = plan([{ id: "a" }, { id: "b" }, { id: "c", after: ["a", "b"], gate, admission: "Lock" }]);
  let { run } = advance(join, newRun, [], 1);
  run = advance(join, run, [succeeded("a")], 2).run;
  expect(asked).toEqual([]);
  run = advance(join, run, [succeeded("b")], 3).run;
  advance(join, run, [], 4);
  expect(asked).toEqual(["Succeeded,Succeeded"]);
});

test("an error of a gate fails the step with the text, and a gate may skip for a reason of its own", () => {
  const both = plan([
    { id: "a", gate: conditionGate(false, () => ({ ok: false, error: "no such key: x" })) },
    { id: "b", gate: () => ({ skip: "InputUnavailable", message: "steps.a.outputs.x is not there" }) },
  ]);
  const { run } = advance(both, newRun, [], 1);
  expect(phases(run)).toEqual({ a: "Failed(ExpressionError)", b: "Skipped(InputUnavailable)" });
  expect([run.steps["a"]?.message, run.steps["b"]?.message]).toEqual([
    "no such key: x",
    "steps.a.outputs.x is not there",
  ]);
  expect(run.phase).toBe("Failed");
});

test("a skipped dependant says whose fault it was", () => {
  const pair = plan([{ id: "a" }, { id: "b", after: ["a"] }]);
  const { run } = advance(pair, { ...newRun, steps: { a: ends["Failed"] as StepState } }, [], 1);
  expect(run.steps["b"]?.message).toBe('"a" is Failed');
});

test("a gate sees through barriers, sees every step, and sees how the main plan ended only in the final one", () => {
  const seen: unknown[] = [];
  const look = (scope: GateScope): ReturnType<Gate> => {
    const { id } = scope;
    const direct = scope.dependencies().map((dependency) => `${dependency.id} ${dependency.ok}`);
    seen.push({
      id,
      direct,
      a: scope.state("a").phase,
      nobody: scope.state("nobody").phase,
      main: scope.main(),
      number: scope.run.number,
    });
    return { run: true };
  };
  const final = buildPlan([{ id: "report", dependsOn: [] }], [planStep({ id: "report", gate: look })]);
  const staged = buildPlan(
    stages([["a", "b"], ["c"]]),
    [planStep({ id: "b", onFailure: "Continue" }), planStep({ id: "c", gate: look })],
    final.ok ? { final: final.value } : {},
  );
  if (!staged.ok) throw new Error("stages are a graph");
  let { run } = advance(staged.value, newRun, [], 1);
  run = advance(
    staged.value,
    run,
    [
      succeeded("a"),
      { kind: "child", step: "b", attempt: 1, state: { is: "failed", reason: "Error", retryable: false } },
    ],
    2,
  ).run;
  advance(
    staged.value,
    run,
    [{ kind: "child", step: "c", attempt: 1, state: { is: "failed", reason: "Error", retryable: false } }],
    3,
  );
  expect(seen).toEqual([
    { id: "c", direct: ["a true", "b true"], a: "Succeeded", nobody: "Pending", main: undefined, number: 1 },
    {
      id: "report",
      direct: [],
      a: "Succeeded",
      nobody: "Pending",
      main: { phase: "Failed", failed: ["c"] },
      number: 1,
    },
  ]);
});

test("a barrier is open when everything before it is ok, and shut otherwise", () => {
  const staged = buildPlan(stages([["a"], ["b", "c"]]), [planStep({ id: "c", ...names.failure })]);
  if (!staged.ok) throw new Error("stages are a graph");
  const run = (end: string) =>
    phases(advance(staged.value, { ...newRun, steps: { a: ends[end] as StepState } }, [], 1).run);
  expect(run("Succeeded")).toMatchObject({ b: runs, c: unwanted });
  expect(run("Failed")).toMatchObject({ b: broken, c: runs });
});

test("a step called like something every object has is a step like any other", () => {
  const odd = plan([{ id: "constructor" }, { id: "toString", after: ["constructor"] }]);
  let { run } = advance(odd, newRun, [], 1);
  expect(phases(run)).toEqual({ constructor: "Starting" });
  run = advance(odd, run, [succeeded("constructor")], 2).run;
  expect(phases(advance(odd, run, [succeeded("toString")], 3).run)).toEqual({
    constructor: "Succeeded",
    toString: "Succeeded",
  });
});

test("a gate that waits leaves its step pending and is asked again in the next call", () => {
  const isOpen = new Set<string>();
  const gate: Gate = (scope) => (isOpen.has(scope.id) ? { run: true } : { wait: true });
  const lines = plan([
    { id: "a", gate },
    { id: "b", after: ["a"] },
  ]);
  const first = advance(lines, newRun, [], 1);
  expect(phases(first.run)).toEqual({});
  expect(first.effects).toEqual([]);
  isOpen.add("a");
  const second = advance(lines, first.run, [], 2);
  expect(phases(second.run)).toEqual({ a: "Starting" });
  expect(advance(lines, second.run, [succeeded("a")], 3).run.steps["b"]?.phase).toBe("Starting");
});

test("a gate that waits is asked again with a cache, and once only after it decided", () => {
  let asked = 0;
  const gate: Gate = () => (++asked < 3 ? { wait: true } : { run: true });
  const lines = plan([{ id: "a", gate }]);
  const cache = createRunCache();
  let { run } = advance(lines, newRun, [], 1, cache);
  for (let now = 2; now < 6; now++) ({ run } = advance(lines, run, [], now, cache));
  expect(phases(run)).toEqual({ a: "Starting" });
  expect(asked).toBe(3);
});

test("a canceled run ends steps whose gate waits", () => {
  const lines = plan([{ id: "a", gate: () => ({ wait: true }) }]);
  const { run } = advance(lines, newRun, [], 1);
  const canceled = advance(lines, run, [{ kind: "action", action: "cancel" }], 2).run;
  expect(canceled.phase).toBe("Canceled");
});
