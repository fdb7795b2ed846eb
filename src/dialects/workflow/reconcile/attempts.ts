import type { Instant } from "#lib/base/index.ts";
import { type MainOutcome, rollup, type RunState, stepState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import type { RunValues } from "../compile/values.ts";
import type { ChildReference, StepStatus, Workflow } from "../kinds.ts";
import type { Attempt } from "../steps/executor.ts";

/** The stored workflow and the run that follows from it. */
export interface PassState {
  readonly workflow: Stored<Workflow>;
  readonly compiled: CompiledWorkflow;
  readonly run: RunState;
  readonly now: Instant;
}

/** The current attempt of a step. `since`: its start, or else when ready. `reference`: default: the status's. */
export function attemptOf(state: PassState, step: CompiledStep, reference?: ChildReference): Attempt {
  const { workflow, compiled, run, now } = state;
  const { attempt, phase, readyAt, startedAt, iteration = 1 } = stepState(run, step.key);
  const known = reference ?? statusOf(workflow, step.key)?.reference;
  const values = valuesOf(state, step.final);
  const isLoop = step.repeatUntil !== undefined;
  return {
    workflow,
    compiled,
    step,
    number: attempt,
    round: attempt,
    phase,
    reference: known,
    values: isLoop ? { ...values, local: { iteration } } : values,
    ...(isLoop ? { iteration } : {}),
    since: startedAt ?? readyAt ?? now,
    now,
  };
}

/** Undefined while Pending. Keys may be names of inherited members. */
export function statusOf(workflow: Workflow, key: string): StepStatus | undefined {
  const statuses = workflow.status?.statuses ?? {};
  return Object.hasOwn(statuses, key) ? statuses[key] : undefined;
}

/** The run as expressions see it. Only final steps know the outcome of the main part. */
export const valuesOf = ({ compiled, run }: Pick<PassState, "compiled" | "run">, final: boolean): RunValues => ({
  run,
  state: (key) => stepState(run, key),
  main: final ? mainOutcome(compiled, run) : undefined,
});

function mainOutcome({ plan }: CompiledWorkflow, run: RunState): MainOutcome {
  const { final: _final, ...main } = plan;
  const { phase } = rollup(main, run);
  const failed = [...plan.graph.order].flatMap((node) => {
    const step = plan.steps[node];
    return step !== undefined && stepState(run, step.id).phase === "Failed" && step.onFailure === "Fail"
      ? [step.id]
      : [];
  });
  return { phase: phase === "Succeeded" || phase === "Canceled" ? phase : "Failed", failed };
}
