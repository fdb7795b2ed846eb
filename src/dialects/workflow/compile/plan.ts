import { ok, type Result, parseInstant } from "#lib/base/index.ts";
import {
  conditionGate,
  defaultGate,
  exponentialRetry,
  type Failure,
  type Gate,
  type GateResult,
  type GateScope,
  type Graph,
  noRetry,
  type Plan,
  type PlanStep,
  planStep,
  type RetryPolicy,
  type RunPolicy,
  type StepKind,
  type Due,
} from "#engine/index.ts";
import type { WorkflowSpec, WorkflowStep } from "../kinds.ts";
import { approvalRule } from "./approval.ts";
import { missingInput } from "./artifacts.ts";
import type { CompiledStep } from "./compiled.ts";
import { gateBinding } from "./expressions.ts";
import { countItems, fanOf, itemsOf, itemValues } from "./for-each.ts";
import { lockNames } from "./locks.ts";
import { limits } from "./shape.ts";
import type { StepType } from "./step-source.ts";
import { evaluate, evaluateCondition, render, runValues, type StaticValues } from "./values.ts";
import { isInstant } from "./step-rules.ts";

/** `work` has a child and counts for `parallelism`; `observe` watches; `approval` needs people. */
const kindOf: Readonly<Record<StepType, StepKind>> = {
  jobTemplate: "work",
  container: "work",
  template: "work",
  workflow: "work",
  externalRef: "observe",
  wait: "timer",
  approval: "approval",
};

const graceMs = 30_000;

/** The engine's plan of a validated workflow. Pure. Final steps are a plan of their own with its own deadline. */
export function planOf(
  spec: WorkflowSpec,
  graphs: { readonly main: Graph; readonly final: Graph },
  values: StaticValues,
): Plan {
  const steps = (graph: Graph) =>
    graph.ids.flatMap((key) => {
      const step = values.steps.get(key);
      return step === undefined ? [] : [stepOf(step, values)];
    });
  const main: Plan = { graph: graphs.main, steps: steps(graphs.main), policy: policyOf(spec) };
  if (graphs.final.ids.length === 0) return main;
  const deadline = seconds(spec.finallyDeadlineSeconds ?? limits.finallyDeadlineSeconds);
  return {
    ...main,
    final: { graph: graphs.final, steps: steps(graphs.final), policy: { strategy: "Continue", deadline } },
  };
}

const seconds = (count: number): number => Math.round(count * 1000);

const policyOf = (spec: WorkflowSpec): RunPolicy => ({
  strategy: spec.failureStrategy ?? "Continue",
  ...(spec.parallelism === undefined ? {} : { parallelism: spec.parallelism }),
  ...(spec.activeDeadlineSeconds === undefined ? {} : { deadline: seconds(spec.activeDeadlineSeconds) }),
  ...(spec.suspend === undefined ? {} : { suspended: spec.suspend }),
});

function stepOf(compiled: CompiledStep, values: StaticValues): PlanStep {
  const { step, key, type } = compiled;
  // Inherited timeouts are for attempts, which an approval has not.
  const { timeoutSeconds } = step.approval ?? step;
  return planStep({
    id: key,
    kind: step.forEach === undefined ? kindOf[type] : "fan",
    priority: step.priority ?? 0,
    // Timers need no locks; items of a fan-out take their own.
    ...(hasLocks(step) && step.forEach === undefined && type !== "wait" ? { admission: "Lock" } : {}),
    gate: gateOf(compiled, values),
    afterFailure: isAfterFailure(compiled),
    retry: retryOf(compiled, values),
    onFailure: step.onFailure ?? "Fail",
    graceMs,
    ...(timeoutSeconds === undefined ? {} : { timeout: seconds(timeoutSeconds) }),
    ...(step.deadlineSeconds === undefined ? {} : { deadline: seconds(step.deadlineSeconds) }),
    ...(step.wait === undefined ? {} : { due: dueOf(compiled, values) }),
    ...(step.approval?.onTimeout === undefined ? {} : { onTimeout: step.approval.onTimeout }),
    ...(step.approval === undefined ? {} : { approval: approvalRule(compiled, step.approval, values) }),
    ...(step.forEach === undefined ? {} : { fan: fanOf(compiled, values) }),
    ...(step.repeat === undefined ? {} : { repeat: loopOf(step.repeat) }),
  });
}

const hasLocks = ({ locks = [] }: WorkflowStep): boolean => locks.length > 0;

const loopOf = ({ maxIterations = 10, intervalSeconds = 0 }: NonNullable<WorkflowStep["repeat"]>) => ({
  maxIterations,
  interval: seconds(intervalSeconds),
});

/** A condition that names `failure()` or `always()` also runs while the run is failing (`Drain`, `Cancel`). */
const isAfterFailure = ({ when }: CompiledStep): boolean =>
  when?.program.references.functions.some((name) => name === "failure" || name === "always") ?? false;

/** First the condition, then the inputs: a skip by condition is fine for dependants, missing inputs are not. */
function gateOf(compiled: CompiledStep, values: StaticValues): Gate {
  const condition = conditionOf(compiled, values);
  const templates = [compiled.body, compiled.until, compiled.cache?.key, compiled.locks];
  const needed = [...templates.flatMap((template) => template?.uses ?? []), ...usesOfItems(compiled)];
  const isSimple = compiled.takes.length === 0 && compiled.locks === undefined;
  if (needed.length === 0 && compiled.when === undefined && isSimple) return condition;
  return (scope) => {
    const answer = condition(scope);
    if ("skip" in answer) return answer;
    const missing = missingInput(compiled.takes, (key) => scope.state(key));
    if (missing !== undefined) return unavailable(`${missing.step} has not left the artifact "${missing.artifact}"`);
    const used = [...needed, ...(compiled.when?.uses ?? [])];
    // A step that did not succeed may lack outputs; steps that need them are skipped.
    if (used.every(({ key }) => scope.state(key).phase === "Succeeded")) {
      const names = "error" in answer ? ok([]) : namesOfLocks(compiled, values, scope);
      return names.ok ? answer : { error: names.error };
    }
    if ("error" in answer) return unavailable(answer.error);
    return inputsAvailable(compiled, values, scope);
  };
}

/** Items ask for theirs themselves. */
const namesOfLocks = (step: CompiledStep, values: StaticValues, scope: GateScope): Result<unknown, string> =>
  step.forEach === undefined ? lockNames(step, values, runValues(scope)) : ok([]);

function conditionOf({ when, ...compiled }: CompiledStep, values: StaticValues): Gate {
  if (when === undefined) return defaultGate;
  return conditionGate(isAfterFailure({ when, ...compiled }), (scope) => {
    const more = { [gateBinding]: scope.success() ? "ok" : "bad" };
    return evaluateCondition(when, values, runValues(scope), more);
  });
}

/** Bad for dependants, whose inputs are missing, too. */
const unavailable = (message: string): GateResult => ({ skip: "InputUnavailable", message });

const usesOfItems = ({ forEach }: CompiledStep) =>
  forEach === undefined
    ? []
    : [forEach.items, forEach.when].flatMap((each) => (each && "uses" in each ? each.uses : []));

/** Renders the start on trial, only behind a step that did not succeed. The first item stands for all. */
function inputsAvailable(step: CompiledStep, values: StaticValues, scope: GateScope): GateResult {
  const { body, until, forEach } = step;
  const run = runValues(scope);
  const items = itemsOf(step, values, run);
  if (!items.ok) return unavailable(items.error.error);
  const counted = countItems(step, values, run, items.value);
  if ("error" in counted) return unavailable(counted.error);
  const [first] = items.value;
  if (forEach !== undefined && first === undefined) return { run: true };
  const local = first === undefined ? { iteration: 1 } : itemValues(0, first);
  const inputs: readonly Result<unknown, string>[] = [
    body === undefined ? ok(null) : render(body, values, { ...run, local }),
    until === undefined ? ok(null) : evaluate(until, values, run),
    namesOfLocks(step, values, scope),
  ];
  for (const input of inputs) if (!input.ok) return unavailable(input.error);
  return { run: true };
}

/** Jitter is seeded by workflow and step, so that a restart computes the same delays. */
function retryOf({ step, key, retryWhen }: CompiledStep, values: StaticValues): RetryPolicy {
  const { retry } = step;
  if (retry?.limit === undefined || retry.limit === 0) return noRetry;
  const classes = retry.on;
  const retryable = (failure: Failure, scope: GateScope): boolean => {
    if (classes !== undefined && !classes.includes(failure.cause)) return false;
    // For errors the expression was evaluated on observation, with the exit code.
    if (retryWhen === undefined || failure.cause === "Error") return true;
    const { attempt, reason, message = "" } = failure;
    // A timeout or loss has no exit code and no outputs.
    const told = { attempt, reason, message, exitCode: null, outputs: {} };
    const answer = evaluateCondition(retryWhen, values, runValues(scope), told);
    return answer.ok && answer.value;
  };
  const curve = {
    base: seconds(retry.initialSeconds ?? 10),
    factor: retry.factor ?? 2,
    cap: seconds(retry.maxSeconds ?? 300),
  };
  return exponentialRetry({ ...curve, limit: retry.limit, seed: `${values.identity.uid}/${key}` }, retryable);
}

/** When a `wait` step is due; a past `until` at once. An expression must return an RFC 3339 text. */
function dueOf({ step, until }: CompiledStep, values: StaticValues): Due {
  const { wait } = step;
  if (wait?.seconds !== undefined) {
    const after = wait.seconds * 1000;
    return () => ({ after });
  }
  const text = wait?.until ?? "";
  if (isInstant(text)) return () => instant(text);
  return (scope) => {
    if (until === undefined) return { error: "the timer has no time" };
    const answer = evaluate(until, values, runValues(scope));
    return answer.ok ? instant(answer.value) : { error: answer.error };
  };
}

function instant(value: unknown): { readonly at: number } | { readonly error: string } {
  const at = typeof value === "string" ? parseInstant(value) : undefined;
  return at === undefined
    ? { error: `expected a time such as 2026-01-31T12:00:00Z, found ${JSON.stringify(value)}` }
    : { at };
}
