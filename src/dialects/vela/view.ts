import { type Instant, parseInstant } from "#lib/base/index.ts";
import type { ActionName, ObjectRef, RunPhase, RunView, StepPhase, StepView } from "#engine/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { Step } from "./app.ts";
import { Application, type StepStatus, type WorkflowRun, type WorkflowStatusFields } from "./kinds.ts";
import { parseApp, parseRun } from "./parse.ts";

// Browser-safe: the web interface uses it.

const isApplication = (object: KubeObject): boolean => object.kind === Application.kind;

/** The steps of a run as far as the object itself says. */
export const stepsOf = (object: KubeObject): readonly Step[] =>
  (isApplication(object) ? parseApp(object as Stored<Application>) : parseRun(object as Stored<WorkflowRun>)).workflow
    .steps;

/** The status of the workflow; an application has it in a member. */
export function workflowStatusOf(object: KubeObject): WorkflowStatusFields & { readonly status?: string } {
  if (!isApplication(object)) return (object as WorkflowRun).status ?? {};
  return (object as Application).status?.workflow ?? {};
}

const runPhases: Readonly<Record<string, RunPhase>> = {
  initializing: "Pending",
  executing: "Running",
  suspending: "Suspended",
  terminated: "Canceled",
  failed: "Failed",
  succeeded: "Succeeded",
  skipped: "Succeeded",
};

/** Applications have phases before and after their workflow. */
const applicationPhases: Readonly<Record<string, RunPhase>> = {
  starting: "Pending",
  rendering: "Running",
  generatingPolicy: "Running",
  runningWorkflow: "Running",
  workflowSuspending: "Suspended",
  workflowTerminated: "Canceled",
  workflowFailed: "Failed",
  running: "Succeeded",
  unhealthy: "Running",
  deleting: "Cancelling",
};

/** The phase for people, in the dialect's words. */
export function nativePhaseOf(object: KubeObject): string {
  if (!isApplication(object)) return workflowStatusOf(object).status ?? "";
  const { status, phase } = (object as Application).status ?? {};
  return status ?? phase ?? "";
}

/** An Application or a WorkflowRun as a run. */
export function viewRun(object: KubeObject): RunView {
  const { apiVersion, kind, metadata } = object;
  const { name = "", namespace, uid } = metadata;
  const status = workflowStatusOf(object);
  const native = nativePhaseOf(object);
  const phase = (isApplication(object) ? applicationPhases : runPhases)[native] ?? "Pending";
  const steps = viewSteps(object, status);
  const [startedAt, finishedAt] = [instantOf(status.startTime), instantOf(status.endTime)];
  const ref: ObjectRef = {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
  return {
    ref,
    dialect: "vela",
    name: name === "" ? (metadata.generateName ?? "") : name,
    phase,
    nativePhase: native,
    number: 1,
    createdAt: instantOf(metadata.creationTimestamp) ?? 0,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(status.message === undefined || status.message === "" ? {} : { message: status.message }),
    progress: { done: steps.filter((step) => isDone(step.phase)).length, total: steps.length },
    steps,
    children: [],
    actions: actionsOf(phase, status),
  };
}

const instantOf = (text: string | undefined): Instant | undefined =>
  text === undefined ? undefined : parseInstant(text);

const isDone = (phase: StepPhase): boolean => ["Succeeded", "Failed", "Skipped", "Canceled"].includes(phase);

function actionsOf(phase: RunPhase, { suspend }: WorkflowStatusFields): readonly ActionName[] {
  if (phase === "Cancelling") return [];
  if (isDone(phase)) return ["retry"];
  return suspend === true ? ["cancel", "resume"] : ["cancel", "suspend"];
}

type AnyStepStatus = Omit<StepStatus, "subSteps">;

function viewSteps(object: KubeObject, status: WorkflowStatusFields): readonly StepView[] {
  const byName = new Map((status.steps ?? []).map((step) => [step.name, step]));
  const ids = new Map<string, string>();
  const ranks = new Map<string, number>();
  const views: StepView[] = [];
  const add = (step: Step, found: AnyStepStatus | undefined, group?: Step): void => {
    const id = group === undefined ? step.name : `${group.name}/${step.name}`;
    ids.set(step.name, id);
    const dependencies = step.dependsOn.map((name) => ids.get(name) ?? name);
    const rank = Math.max(-1, ...step.dependsOn.map((name) => ranks.get(name) ?? -1)) + 1;
    ranks.set(step.name, rank);
    views.push({ ...viewStep(step, found), id, dependencies, rank, ...(group ? { group: group.name } : {}) });
  };
  for (const step of stepsOf(object)) {
    const found = byName.get(step.name);
    add(step, found);
    for (const sub of step.subSteps)
      add(
        sub,
        found?.subSteps?.find(({ name }) => name === sub.name),
        step,
      );
  }
  return views;
}

type BareStep = Omit<StepView, "id" | "dependencies" | "rank" | "group">;

function viewStep({ name }: Step, status: AnyStepStatus = {}): BareStep {
  const { reason, message, attempts = 0, firstExecuteTime, lastExecuteTime, nextTime, resourceRef } = status;
  const phase = stepPhaseOf(status);
  const [startedAt, notBefore] = [instantOf(firstExecuteTime), instantOf(nextTime)];
  const finishedAt = isDone(phase) ? instantOf(lastExecuteTime) : undefined;
  const { apiVersion, kind, name: child, namespace } = resourceRef ?? {};
  const hasChild = apiVersion !== undefined && kind !== undefined && child !== undefined;
  return {
    name,
    phase,
    nativePhase: status.phase ?? "",
    waitingFor: [],
    attempt: attempts,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(reason === undefined || reason === "" ? {} : { reason }),
    ...(message === undefined || message === "" ? {} : { message }),
    ...(hasChild
      ? { child: { apiVersion, kind, name: child, ...(namespace === undefined ? {} : { namespace }) } }
      : {}),
    logs: [],
    artifacts: [],
    actions: phase === "Suspended" ? ["approve"] : [],
  };
}

function stepPhaseOf({ phase = "", reason, message = "" }: AnyStepStatus): StepPhase {
  switch (phase) {
    case "running":
      return "Running";
    case "suspending":
      return "Suspended";
    case "succeeded":
      return "Succeeded";
    case "skipped":
      return "Skipped";
    case "failed":
      // Retried.
      if (reason === "Execute") return "Waiting";
      return reason === "Terminate" ? "Canceled" : "Failed";
    default:
      return message.startsWith("Pending on Input") ? "Waiting" : "Pending";
  }
}
