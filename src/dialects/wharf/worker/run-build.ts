import {
  advance,
  buildPlan,
  chain,
  type ChildState,
  createRunCache,
  type Effect,
  type Fact,
  type Gate,
  isTerminal,
  newRun,
  type NodeSpec,
  type Plan,
  planStep,
  type PlanStep,
  type RunState,
  stepState,
} from "#engine/index.ts";
import type { RunsIf } from "../definition/definition.ts";
import type { BuildPlan, StagePlan, StepPlan } from "../plan/step-plan.ts";
import type { Cancel, Clock } from "#lib/base/index.ts";
import type { StepStatus } from "../results/build-document.ts";
import type { BuildEnd } from "../results/results-store.ts";
import { carryOutStep, type StepSurroundings } from "./carry-out-step.ts";

export interface BuildRequest extends StepSurroundings, BuildLimits {
  readonly plan: BuildPlan;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Runs `always` stages even after the build is canceled. */
  readonly alwaysOnCancel?: boolean;
}

/** Runs a build to its end and freezes its results. Rejects only for internal faults; results and runtime are closed
 * then, too. */
export async function runBuild(request: BuildRequest): Promise<BuildEnd> {
  const { results, runtime } = request;
  try {
    const first = await runStages(request.plan.stages, request, request.signal);
    const late = request.alwaysOnCancel === true && first.isCancelled ? lateStages(request.plan, first.begun) : [];
    if (late.length > 0) await runStages(late, request, new AbortController().signal);
    const end = endOf(request, first);
    await runtime.close();
    return await results.finish(end);
  } finally {
    await runtime.close();
    await results.freeze();
  }
}

interface Outcome {
  readonly run: RunState;
  readonly isCancelled: boolean;
  readonly begun: ReadonlySet<StagePlan>;
}

async function runStages(stages: readonly StagePlan[], request: BuildRequest, signal: AbortSignal): Promise<Outcome> {
  const { clock, results } = request;
  const steps = new Map(stages.flatMap((stage) => stage.steps.map((step) => [stepKey(stage, step), step] as const)));
  const begun = new Set<StagePlan>();
  const ended = new Set<StagePlan>();
  const told: Promise<void>[] = [];
  const onChange = (run: RunState): void => {
    for (const stage of stages) {
      if (ended.has(stage) || !isBegun(run, stage)) continue;
      const { phase, startedAt } = stepState(run, stageKey(stage));
      if (startedAt === undefined) continue;
      if (!begun.has(stage)) told.push(results.setStageStatus(stage.stageId, "Running"));
      begun.add(stage);
      if (phase === "Running" || phase === "Cancelling") continue;
      ended.add(stage);
      told.push(endStage(stage, results));
    }
  };
  const start = async (id: string, own: AbortSignal): Promise<ChildState> => {
    const step = steps.get(id);
    if (step === undefined) throw new Error(`the engine has started ${id}, which is no step of the build`);
    return childOf(await carryOutStep(step, own, request));
  };
  const run = await driveRun(enginePlan({ stages }, request), { clock, signal, start, onChange });
  await Promise.all(told);
  const wasCut = Object.values(run.steps).some(({ phase }) => phase === "Canceled");
  return { run, isCancelled: run.closing === "Cancel" && wasCut, begun };
}

function childOf({ status, reason = status, message }: Awaited<ReturnType<typeof carryOutStep>>): ChildState {
  if (status === "Success") return { is: "succeeded" };
  return { is: "failed", reason, retryable: false, ...(message === undefined ? {} : { message }) };
}

async function endStage({ stageId, steps }: StagePlan, results: BuildRequest["results"]): Promise<void> {
  const idle = steps.filter((step) => statusOf(step, results) === "None");
  await Promise.all(idle.map(({ stepId }) => results.setStatus(stepId, "Cancelled")));
  await results.setStageStatus(stageId, worst(steps.map((step) => statusOf(step, results))));
}

const statusOf = ({ stepId }: StepPlan, { build }: BuildRequest["results"]): StepStatus =>
  build.steps.find((step) => step.stepId === stepId)?.status ?? "None";

/** Failed outranks Cancelled: failures cancel other steps. */
const worst = (statuses: readonly StepStatus[]): StepStatus =>
  statuses.includes("Failed") ? "Failed" : statuses.includes("Cancelled") ? "Cancelled" : "Success";

const lateStages = ({ stages }: BuildPlan, begun: ReadonlySet<StagePlan>): readonly StagePlan[] =>
  stages.filter((stage) => stage.runsIf === "always" && !begun.has(stage));

export const cancelledEnd: BuildEnd = { status: "Cancelled", reason: "Cancelled", message: "the build was cancelled" };

/** Canceling outranks the timeout, and both outrank failed steps. */
function endOf({ results, timeoutMs = 0 }: BuildRequest, { run, isCancelled }: Outcome): BuildEnd {
  if (isCancelled) return cancelledEnd;
  if (run.closing === "Deadline")
    return { status: "Failed", reason: "Timeout", message: `not finished within ${timeoutMs / 1000}s` };
  const failed = results.build.steps.find(({ status }) => status === "Failed");
  if (failed === undefined) return { status: "Success" };
  const stage = results.build.stages.find(({ stageId }) => stageId === failed.stageId)?.name ?? "";
  return { status: "Failed", reason: "StepFailed", message: `step ${stage}/${failed.name} has failed` };
}

interface World {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Runs a step by its full id until it has ended. Its signal carries the engine's reason. A rejection ends the run.
   */
  readonly start: (id: string, signal: AbortSignal) => Promise<ChildState>;
  readonly onChange?: (run: RunState) => void;
}

function driveRun(plan: Plan, { clock, signal, start, onChange }: World): Promise<RunState> {
  const cache = createRunCache();
  const children = new Map<string, AbortController>();
  // Limits count elapsed time, not the wall clock, which may be set.
  const origin = clock.now() - clock.monotonic();
  const now = (): number => origin + clock.monotonic();
  let run = newRun;
  let alarm: Cancel = () => undefined;
  return new Promise((resolve, reject) => {
    const cancel = (): void => turn({ kind: "action", action: "cancel" });
    const stop = (): void => {
      alarm();
      signal.removeEventListener("abort", cancel);
    };
    const fail = (fault: unknown): void => {
      stop();
      for (const child of children.values()) child.abort(fault);
      reject(fault);
    };
    const carryOut = ({ kind, step, attempt }: Effect): void => {
      const known = children.get(step);
      if (kind === "cancel") return void (known?.signal.aborted === false && known.abort(stepState(run, step).reason));
      // The engine repeats effects that are still due.
      if (known !== undefined) return;
      const child = new AbortController();
      children.set(step, child);
      start(step, child.signal).then((state) => turn({ kind: "child", step, attempt, state }), fail);
    };
    const turn = (...facts: readonly Fact[]): void => {
      if (isTerminal(run.phase)) return;
      alarm();
      const result = advance(plan, run, facts, now(), cache);
      run = result.run;
      onChange?.(run);
      if (isTerminal(run.phase)) {
        stop();
        return resolve(run);
      }
      for (const effect of result.effects) carryOut(effect);
      if (result.wakeAt !== undefined) alarm = clock.after(result.wakeAt - now(), turn);
    };
    turn(...(signal.aborted ? [{ kind: "action", action: "cancel" } as const] : []));
    signal.addEventListener("abort", cancel, { once: true });
  });
}

// Stages are engine groups that run one after another; a failed step cancels the others of its stage.

interface BuildLimits {
  readonly maxParallel?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

const stageKey = ({ stageId }: Pick<StagePlan, "stageId">): string => `${stageId}`;

const stepKey = (stage: Pick<StagePlan, "stageId">, { stepId }: Pick<StepPlan, "stepId">): string =>
  `${stageKey(stage)}/${stepId}`;

export function enginePlan({ stages }: BuildPlan, { maxParallel, timeoutMs }: BuildLimits): Plan {
  if (maxParallel !== undefined && !(maxParallel >= 1))
    throw new RangeError(`maxParallel: expected 1 or more, found ${maxParallel}`);
  const groups = stages.map((stage, index): PlanStep => {
    const earlier = stages.slice(0, index).map(stageKey);
    return planStep({
      id: stageKey(stage),
      kind: "group",
      gate: gateOf(stage.runsIf, earlier),
      afterFailure: true,
      group: stageGroup(stage, maxParallel),
    });
  });
  const deadline = timeoutMs === undefined ? {} : { deadline: timeoutMs };
  return planned(chain(stages.map(stageKey)), groups, { strategy: "Continue", ...deadline });
}

function stageGroup({ steps }: StagePlan, maxParallel: number | undefined): Plan {
  const nodes = steps.map(({ stepId }) => ({ id: `${stepId}`, dependsOn: [] }));
  const inner = steps.map(({ stepId, timeoutMs }) =>
    planStep({ id: `${stepId}`, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) }),
  );
  const bound = maxParallel === undefined ? {} : { parallelism: maxParallel };
  return planned(nodes, inner, { strategy: "Cancel", ...bound });
}

function planned(nodes: readonly NodeSpec[], steps: readonly PlanStep[], policy: Plan["policy"]): Plan {
  const plan = buildPlan(nodes, steps, { policy });
  if (!plan.ok) throw new Error(`the build cannot be run: ${JSON.stringify(plan.error[0])}`);
  return plan.value;
}

/** Skipped stages count neither as failed nor as succeeded. */
const gateOf =
  (runsIf: RunsIf, earlier: readonly string[]): Gate =>
  (scope) => {
    const hasFailed = runsIf !== "always" && earlier.some((id) => scope.state(id).phase === "Failed");
    return runsIf === "always" || hasFailed === (runsIf === "fail") ? { run: true } : { skip: "ConditionFalse" };
  };

const isBegun = (run: Parameters<typeof stepState>[0], stage: StagePlan): boolean => {
  const { phase } = stepState(run, stageKey(stage));
  return phase !== "Pending" && phase !== "Waiting" && phase !== "Skipped";
};
