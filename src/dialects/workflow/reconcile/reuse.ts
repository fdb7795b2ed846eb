import { type Instant, isJsonObject, jsonEquals, type JsonValue, recover, type Result } from "#lib/base/index.ts";
import { type RunState, type StepState, stepState } from "#engine/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { isForbidden } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import { isApplied, isExecuted } from "../compile/step-source.ts";
import { gateBinding } from "../compile/expressions.ts";
import { itemsOf, itemValues } from "../compile/for-each.ts";
import { evaluateCondition, render, type RunValues } from "../compile/values.ts";
import { Workflow } from "../kinds.ts";
import { notices } from "../messages.ts";
import { resubmittedFrom, reusedReason, reuseFrom } from "../resubmit.ts";
import { specOf } from "../spec-of.ts";
import { decodeRun } from "../state.ts";
import { statusOf } from "./attempts.ts";
import { type KnownRun, runOf } from "./memory.ts";
import type { Pass } from "./pass.ts";

/** Gives a resubmitted run the earlier run's results of unchanged steps, with the rights of its writer. */
export async function reuseStage(pass: Pass, compiled: CompiledWorkflow): Promise<void> {
  const { workflow, memory, now, clientFor, signal } = pass;
  const { annotations = {}, namespace } = workflow.metadata;
  const [name, uid] = [annotations[resubmittedFrom], annotations[reuseFrom]];
  const known = runOf(memory, workflow);
  if (uid === undefined || name === undefined || workflow.status?.phase !== undefined || known.run !== known.stored)
    return;
  const ref = { type: Workflow, name, ...(namespace === undefined ? {} : { namespace }) };
  const former = await getOrUndefined<Workflow>(clientFor(workflow), ref, signal).catch(
    recover(isForbidden, undefined),
  );
  if (former === undefined || former.metadata.uid !== uid) {
    pass.record(workflow, notices.nothingToReuse(name));
    return;
  }
  memory.known = withSteps(known, reusableSteps(former, compiled, now));
}

const withSteps = (known: KnownRun, steps: RunState["steps"]): KnownRun =>
  Object.keys(steps).length === 0 ? known : { ...known, run: { ...known.run, steps } };

/** Main steps that succeeded with the same definition, inputs and dependencies. Apply is repeated. */
export function reusableSteps(former: Workflow, compiled: CompiledWorkflow, now: Instant): Record<string, StepState> {
  const earlier = compileWorkflow({ ...former, spec: specOf(former) });
  if (earlier === undefined) return {};
  const formerRun = decodeRun(former.status);
  const steps: Record<string, StepState> = {};
  // The run number is no input; its start time is, if used.
  const oldRun = seen({ ...formerRun, number: 1 });
  const nextRun = seen({ ...formerRun, number: 1, startedAt: now, steps });
  for (const node of compiled.plan.graph.order) {
    const key = compiled.plan.graph.ids[node] ?? "";
    const [step, old] = [compiled.steps.get(key), earlier.steps.get(key)];
    const state = stepState(formerRun, key);
    if (step === undefined || old === undefined || state.phase !== "Succeeded") continue;
    if (isAskedAgain(step) || statusOf(former, key)?.templateHash !== step.hash()) continue;
    if (!(step.step.dependencies ?? []).every((before) => steps[before] !== undefined)) continue;
    const sides = [
      { step: old, compiled: earlier, run: oldRun },
      { step, compiled, run: nextRun },
    ] as const;
    if (!isWanted(step, compiled, nextRun) || !hasSameInputs(...sides)) continue;
    steps[key] = reused(state, former.metadata.name ?? "", now);
  }
  return steps;
}

const seen = (run: RunState): RunValues => ({ run, state: (key) => stepState(run, key), main: undefined });

const isAskedAgain = ({ type, step }: CompiledStep): boolean =>
  !isExecuted(type) || type === "externalRef" || isApplied(step);

/** All dependencies succeeded, so only the condition counts. */
const isWanted = ({ when }: CompiledStep, compiled: CompiledWorkflow, run: RunValues): boolean => {
  if (when === undefined) return true;
  const answer = evaluateCondition(when, compiled, run, { [gateBinding]: "ok" });
  return answer.ok && answer.value;
};

interface Side {
  readonly step: CompiledStep;
  readonly compiled: CompiledWorkflow;
  readonly run: RunValues;
}

/** Whether both would create the same children, except for names. False if rendering fails. */
function hasSameInputs(old: Side, next: Side): boolean {
  const [before, after] = [itemsOf(old.step, old.compiled, old.run), itemsOf(next.step, next.compiled, next.run)];
  if (!before.ok || !after.ok || !jsonEquals(before.value, after.value)) return false;
  const locals =
    next.step.forEach === undefined ? [{ iteration: 1 }] : after.value.map((item, index) => itemValues(index, item));
  return locals.every((local) => isSame(bodyOf(old, local), bodyOf(next, local)));
}

const bodyOf = (
  { step, compiled, run }: Side,
  local: NonNullable<RunValues["local"]>,
): Result<JsonValue, string> | undefined => step.body && render(step.body, compiled, { ...run, local });

const isSame = (a: Result<JsonValue, string> | undefined, b: Result<JsonValue, string> | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.ok && b.ok && jsonEquals(a.value, b.value);

function reused({ outputs, artifacts, items }: StepState, from: string, now: Instant): StepState {
  return {
    phase: "Succeeded",
    attempt: 0,
    reason: reusedReason,
    message: `as in ${from}`,
    readyAt: now,
    startedAt: now,
    finishedAt: now,
    ...(isJsonObject(outputs) ? { outputs } : {}),
    ...(artifacts === undefined ? {} : { artifacts }),
    ...(items === undefined ? {} : { items: { total: items.total, states: items.states } }),
  };
}
