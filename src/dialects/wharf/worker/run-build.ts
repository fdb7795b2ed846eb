import { type ChildState, type RunState, stepState } from "#engine/index.ts";
import type { Clock } from "#lib/base/index.ts";
import type { BuildPlan, StagePlan, StepPlan } from "../plan/step-plan.ts";
import type { StepStatus } from "../results/build-document.ts";
import type { BuildEnd } from "../results/results-store.ts";
import { carryOutStep, type StepSurroundings } from "./carry-out-step.ts";
import { driveRun } from "./drive-run.ts";
import { type BuildLimits, enginePlan, isBegun, stageKey, stepKey } from "./engine-plan.ts";

export interface BuildRequest extends StepSurroundings, BuildLimits {
  readonly plan: BuildPlan;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Runs `always` stages even after the build is canceled. */
  readonly alwaysOnCancel?: boolean;
}

/**
 * Runs a build to its end and freezes its results. Rejects only for internal faults; results and runtime are closed
 * then, too.
 */
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
  /** The build was canceled and some step was cut short. */
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
      // Canceled before it started.
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

/** Steps that did not start are canceled with their stage. */
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
