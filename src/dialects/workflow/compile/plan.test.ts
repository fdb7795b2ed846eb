import { describe, expect, test } from "vitest";
import type { GateScope, MainOutcome, Plan, PlanStep, RunState, StepState } from "#engine/index.ts";
import type { Workflow, WorkflowSpec, WorkflowStep } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { compileWorkflow } from "./compile.ts";

const box: WorkflowStep = { container: { image: "i" } };

function planOf(spec: WorkflowSpec, uid = "u1"): Plan {
  const found = collectProblems();
  const workflow: Workflow = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "wf", namespace: "default", uid },
    spec,
  };
  const compiled = compileWorkflow(workflow, found);
  if (compiled === undefined) throw new Error(JSON.stringify(found.problems));
  return compiled.plan;
}

function stepOf(plan: Plan | undefined, key: string): PlanStep {
  const node = plan?.graph.nodeById.get(key);
  const step = node === undefined ? undefined : plan?.steps[node];
  if (step === undefined) throw new Error(`no step ${key}`);
  return step;
}

const started = Date.UTC(2026, 0, 1);
const run: RunState = { phase: "Running", number: 2, startedAt: started, suspendedFor: 0, steps: {} };

/** A gate's view of a run whose steps are in these states. */
function scopeOf(states: Readonly<Record<string, Partial<StepState>>>, main?: MainOutcome): GateScope {
  const state = (id: string): StepState => ({ phase: "Pending", attempt: 0, ...states[id] });
  const isOk = ({ phase, reason }: StepState) =>
    phase === "Succeeded" || (phase === "Skipped" && reason === "ConditionFalse");
  const all = Object.keys(states).map(state);
  return {
    id: "x",
    run,
    state,
    dependencies: () => [],
    success: () => all.every(isOk),
    failure: () => !all.every(isOk),
    main: () => main,
  };
}

const ok: Partial<StepState> = { phase: "Succeeded", attempt: 1 };
const failed: Partial<StepState> = { phase: "Failed", attempt: 1, reason: "Error" };

describe("the run", () => {
  test("what the document leaves out the engine is not told", () => {
    expect(planOf({ steps: { a: box } }).policy).toEqual({ strategy: "Continue" });
    const step = stepOf(planOf({ steps: { a: box } }), "a");
    expect(step).not.toHaveProperty("timeout");
    expect(step).not.toHaveProperty("deadline");
  });

  test("seconds become milliseconds, and everything else keeps its meaning", () => {
    const spec = { activeDeadlineSeconds: 60, parallelism: 3, suspend: true, failureStrategy: "Drain" as const };
    expect(planOf({ ...spec, steps: { a: box } }).policy).toEqual({
      strategy: "Drain",
      parallelism: 3,
      deadline: 60_000,
      suspended: true,
    });
    const step = stepOf(
      planOf({ steps: { a: { ...box, timeoutSeconds: 5, deadlineSeconds: 9, onFailure: "Continue" } } }),
      "a",
    );
    expect(step).toMatchObject({ timeout: 5_000, deadline: 9_000, onFailure: "Continue", graceMs: 30_000 });
  });

  test("a step's own field wins whole over the default of all steps", () => {
    const stepDefaults = { timeoutSeconds: 5, onFailure: "Continue" as const, retry: { limit: 3 } };
    const plan = planOf({
      stepDefaults,
      steps: { a: box, b: { ...box, timeoutSeconds: 7, retry: { initialSeconds: 1 } } },
    });
    expect(stepOf(plan, "a")).toMatchObject({ timeout: 5_000, onFailure: "Continue", retry: { limit: 3 } });
    expect(stepOf(plan, "b")).toMatchObject({ timeout: 7_000, onFailure: "Continue", retry: { limit: 0 } });
  });

  test.each<[WorkflowStep, string]>([
    [box, "work"],
    [{ template: { apiVersion: "v1", kind: "ConfigMap" } }, "work"],
    [{ externalRef: { apiVersion: "v1", kind: "ConfigMap", name: "c" } }, "observe"],
    [{ wait: { seconds: 1 } }, "timer"],
  ])("%j is %s for the engine", (step, kind) => {
    expect(stepOf(planOf({ steps: { a: step } }), "a").kind).toBe(kind);
  });

  test("final steps are a plan of their own, with their own deadline, and their failures stop nobody", () => {
    const spec = { steps: { a: box }, finally: { z: box }, failureStrategy: "Cancel" as const };
    expect(planOf({ steps: { a: box } }).final).toBeUndefined();
    expect(planOf(spec).final?.policy).toEqual({ strategy: "Continue", deadline: 600_000 });
    expect(planOf({ ...spec, finallyDeadlineSeconds: 5 }).final?.policy.deadline).toBe(5_000);
  });
});

describe("the gate of a step", () => {
  const gate = (when: string | undefined, states: Readonly<Record<string, Partial<StepState>>>) =>
    stepOf(
      planOf({ steps: { a: box, x: { ...box, dependencies: ["a"], ...(when === undefined ? {} : { when }) } } }),
      "x",
    ).gate(scopeOf(states));

  const skipped: Partial<StepState> = { phase: "Skipped", reason: "DependencyFailed" };
  const passed: Partial<StepState> = { phase: "Skipped", reason: "ConditionFalse" };
  const runs = { run: true };

  test.each<[string | undefined, Partial<StepState>, object]>([
    [undefined, ok, runs],
    [undefined, failed, { skip: "DependencyFailed" }],
    [undefined, passed, runs],
    ["success()", ok, runs],
    ["success()", failed, { skip: "DependencyFailed" }],
    ["failure()", ok, { skip: "ConditionFalse" }],
    ["failure()", failed, runs],
    ["failure()", skipped, runs],
    ["always()", ok, runs],
    ["always()", failed, runs],
    ["true", ok, runs],
    ["true", failed, { skip: "DependencyFailed" }],
    ["false", ok, { skip: "ConditionFalse" }],
    ["steps.a.attempt > 1", ok, { skip: "ConditionFalse" }],
    ["steps.a.attempt > 1", { ...ok, attempt: 2 }, runs],
    ["failure() && steps.a.reason == 'Error'", failed, runs],
    ["workflow.runNumber == 2 && timestamp(workflow.startTime) == timestamp('2026-01-01T00:00:00Z')", ok, runs],
  ])("when %s, after %j", (when, a, expected) => {
    expect(gate(when, { a })).toMatchObject(expected);
  });

  test.each(["steps.a.outputs", "steps.a.phase", "steps.a.attempt"])(
    "the condition %s is neither true nor false",
    (when) => {
      expect(gate(when, { a: ok })).toMatchObject({ error: expect.stringMatching(/true or false/) });
    },
  );

  const needs = (when?: string): WorkflowSpec => ({
    steps: {
      a: { ...box, outputs: { n: {} } },
      x: {
        container: { image: "i", args: ["${{ steps.a.outputs.n }}"] },
        dependencies: ["a"],
        ...(when === undefined ? {} : { when }),
      },
    },
  });

  test("a step whose inputs do not exist is skipped, not failed, and starts when they do", () => {
    const ask = (a: Partial<StepState>) => stepOf(planOf(needs("always()")), "x").gate(scopeOf({ a }));
    expect(ask(failed)).toMatchObject({ skip: "InputUnavailable" });
    expect(ask({ ...failed, outputs: { n: "1" } })).toEqual(runs);
    expect(ask({ ...ok, outputs: { n: "1" } })).toEqual(runs);
  });

  test("the condition comes first: what is not wanted needs no inputs", () => {
    expect(
      stepOf(planOf(needs("steps.a.phase == 'Skipped' && always()")), "x").gate(scopeOf({ a: failed })),
    ).toMatchObject({
      skip: "ConditionFalse",
    });
  });

  test("only a condition that asks for failure survives a run that is failing", () => {
    const after = (when: string) =>
      stepOf(planOf({ steps: { a: box, x: { ...box, dependencies: ["a"], when } } }), "x").afterFailure;
    expect(["failure()", "always() && true", "success()", "true"].map(after)).toEqual([true, true, false, false]);
  });

  test("final steps know how the run went", () => {
    const plan = planOf({
      steps: { a: box },
      finally: { z: { ...box, when: "run.phase == 'Failed' && 'a' in run.failed" } },
    });
    const ask = (main: MainOutcome) => stepOf(plan.final, "z").gate(scopeOf({}, main));
    expect(ask({ phase: "Failed", failed: ["a"] })).toEqual(runs);
    expect(ask({ phase: "Succeeded", failed: [] })).toMatchObject({ skip: "ConditionFalse" });
  });
});

describe("retries", () => {
  const retryOf = (retry: WorkflowStep["retry"], uid?: string) =>
    stepOf(planOf({ steps: { a: { ...box, ...(retry === undefined ? {} : { retry }) } } }, uid), "a").retry;

  test("there are none unless a limit says so", () => {
    for (const retry of [undefined, {}, { limit: 0 }, { initialSeconds: 1 }]) expect(retryOf(retry).limit).toBe(0);
  });

  test("pauses double from ten seconds to five minutes, each within a tenth or so of that", () => {
    const { delay } = retryOf({ limit: 9 });
    for (const [index, seconds] of [10, 20, 40, 80, 160, 300, 300, 300].entries()) {
      const pause = delay(index + 1);
      expect(pause).toBeGreaterThanOrEqual(seconds * 800);
      expect(pause).toBeLessThanOrEqual(seconds * 1_200);
    }
  });

  test("the document's own curve is taken, and a factor of one stays", () => {
    const { delay } = retryOf({ limit: 9, initialSeconds: 2, factor: 1, maxSeconds: 5 });
    for (const failures of [1, 5, 9]) expect(Math.round(delay(failures) / 1_000)).toBe(2);
    const steep = retryOf({ limit: 9, initialSeconds: 1, factor: 100, maxSeconds: 4 });
    expect(Math.round(steep.delay(3) / 1_000)).toBeLessThanOrEqual(5);
  });

  test("the pauses of a run are always the same, those of two runs are not", () => {
    const pauses = (uid: string) => [1, 2, 3].map((failures) => retryOf({ limit: 3 }, uid).delay(failures));
    expect(pauses("u1")).toEqual(pauses("u1"));
    expect(pauses("u1")).not.toEqual(pauses("u2"));
  });

  const failure = (cause: "Error" | "Timeout" | "Lost") => ({ cause, attempt: 1, reason: cause });

  test.each<[WorkflowStep["retry"], readonly string[]]>([
    [{ limit: 1 }, ["Error", "Timeout", "Lost"]],
    [{ limit: 1, on: ["Lost"] }, ["Lost"]],
    [{ limit: 1, on: ["Error", "Timeout"] }, ["Error", "Timeout"]],
    [{ limit: 1, on: [] }, []],
    // For errors the expression was asked before; here it is asked of what has told nothing.
    [{ limit: 1, expression: "reason == 'Lost'" }, ["Error", "Lost"]],
    [{ limit: 1, expression: "exitCode == 1" }, ["Error"]],
    [{ limit: 1, on: ["Timeout"], expression: "attempt < 5 && workflow.name == 'wf'" }, ["Timeout"]],
  ])("%j tries again after %j", (retry, classes) => {
    const { retryable } = retryOf(retry);
    const scope = scopeOf({});
    expect(
      (["Error", "Timeout", "Lost"] as const).filter((cause) => retryable?.(failure(cause), scope) ?? true),
    ).toEqual(classes);
  });
});

describe("timers", () => {
  const dueOf = (wait: WorkflowStep["wait"], states = {}, before: WorkflowStep = box) =>
    stepOf(
      planOf({
        params: [{ name: "at", default: "2026-03-01T00:00:00Z" }],
        steps: { a: before, x: { ...(wait === undefined ? {} : { wait }), dependencies: ["a"] } },
      }),
      "x",
    ).due?.(scopeOf(states));

  test.each<[WorkflowStep["wait"], object]>([
    [{ seconds: 90 }, { after: 90_000 }],
    [{ until: "2026-02-01T00:00:00Z" }, { at: Date.UTC(2026, 1, 1) }],
    [{ until: "2026-02-01T01:00:00+01:00" }, { at: Date.UTC(2026, 1, 1) }],
    [{ until: "params.at" }, { at: Date.UTC(2026, 2, 1) }],
    [{ until: "steps.a.finishTime" }, { at: Date.UTC(2026, 0, 5) }],
  ])("%j is due", (wait, due) => {
    expect(dueOf(wait, { a: { ...ok, finishedAt: Date.UTC(2026, 0, 5) } })).toEqual(due);
  });

  test.each([
    ["'tomorrow'", 'expected a time such as 2026-01-31T12:00:00Z, found "tomorrow"'],
    ["1 + 1", "expected a time such as 2026-01-31T12:00:00Z, found 2"],
    ["steps.a.finishTime", 'expected a time such as 2026-01-31T12:00:00Z, found ""'],
  ])("until %s is no time", (until, error) => {
    expect(dueOf({ until }, { a: ok })).toEqual({ error });
  });
});
