import { parseInstant } from "#lib/base/index.ts";
import type { LogRef, ObjectRef, RunView, StepPhase, StepView } from "#engine/index.ts";
import { isOver, phaseOf, wordOf } from "./state.ts";
import type { Build, BuildStatus } from "./kinds.ts";
import type { StepStatus } from "./results/build-document.ts";

// Browser-safe: the web interface uses this file too.

type Step = NonNullable<BuildStatus["steps"]>[number];
type Stage = NonNullable<BuildStatus["stages"]>[number];

export function viewBuild(build: Build): RunView {
  const { apiVersion, kind, metadata, status = {} } = build;
  const { name = "", namespace, uid } = metadata;
  const phase = phaseOf(build);
  const stages = status.stages ?? [];
  const steps = stepsOf(status);
  const ref: ObjectRef = {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
  const views = steps.map((step) => viewStep(step, stages, steps, isOver(wordOf(build)), ref));
  const word = status.status ?? "";
  return {
    ref,
    dialect: "wharf",
    name: name === "" ? (metadata.generateName ?? "") : name,
    phase,
    nativePhase: word,
    number: 1,
    createdAt: instantOf(metadata.creationTimestamp) ?? 0,
    ...timed(status.startedOn, status.finishedOn),
    ...explained(status),
    progress: { done: steps.filter(({ status: is }) => isSettled(is)).length, total: steps.length },
    steps: views,
    children: [],
    actions: isOver(wordOf(build)) || phase === "Cancelling" ? [] : ["cancel"],
  };
}

/** Step 0 is hidden unless it is all there is; if the worker reported no steps but lines, a failed step 0 is shown for
 * them. */
function stepsOf({ steps = [], logs, status }: BuildStatus): readonly Step[] {
  const own = steps.filter(({ stepId }) => stepId > 0);
  if (own.length > 0 || steps.length > 0) return own.length > 0 ? own : steps;
  return status === "Failed" && (logs?.lines ?? 0) > 0
    ? [{ stepId: 0, stageId: 0, name: "prepare", status: "Failed" }]
    : [];
}

const instantOf = (text: string | null | undefined): number | undefined => parseInstant(text ?? "");

function timed(from: string | null | undefined, to: string | null | undefined) {
  const [startedAt, finishedAt] = [instantOf(from), instantOf(to)];
  return { ...(startedAt === undefined ? {} : { startedAt }), ...(finishedAt === undefined ? {} : { finishedAt }) };
}

const explained = ({ reason, message }: { readonly reason?: string; readonly message?: string }) => ({
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});

/** Steps depend on all steps of the stage before: conditions belong to stages. */
function viewStep(
  step: Step,
  stages: readonly Stage[],
  steps: readonly Step[],
  isBuildOver: boolean,
  build: ObjectRef,
): StepView {
  const at = stages.findIndex(({ stageId }) => stageId === step.stageId);
  const before = at > 0 ? steps.filter(({ stageId }) => stageId === stages[at - 1]?.stageId) : [];
  const group = stages[at]?.name;
  const id = `${step.stepId}`;
  const log: LogRef = { name: step.name, object: build, container: id, isOwn: true, attempt: 1 };
  return {
    id,
    name: step.name,
    ...(group === undefined ? {} : { group }),
    phase: stepPhase(step.status, isBuildOver),
    nativePhase: step.status,
    dependencies: before.map(({ stepId }) => `${stepId}`),
    waitingFor: before.filter(({ status }) => !isSettled(status)).map(({ stepId }) => `${stepId}`),
    rank: Math.max(0, at),
    attempt: step.status === "None" ? 0 : 1,
    ...timed(step.startedAt, step.finishedAt),
    ...explained(step),
    logs: step.status === "None" ? [] : [log],
    artifacts: [],
    actions: [],
  };
}

const isSettled = (status: StepStatus): boolean =>
  status === "Success" || status === "Failed" || status === "Cancelled";

const phases: Readonly<Record<Exclude<StepStatus, "None">, StepPhase>> = {
  Scheduling: "Starting",
  Initializing: "Starting",
  Running: "Running",
  Success: "Succeeded",
  Failed: "Failed",
  Cancelled: "Canceled",
};

/** Steps that have not started when the build ends are skipped. */
const stepPhase = (status: StepStatus, isBuildOver: boolean): StepPhase =>
  status === "None" ? (isBuildOver ? "Skipped" : "Pending") : phases[status];
