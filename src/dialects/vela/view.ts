import { defined, parseInstant } from "#lib/base/index.ts";
import type { ActionName, ObjectRef, RunPhase, RunView, StepPhase, StepView } from "#engine/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { objectsOf } from "./labels.ts";
import type { Mode, Step, VelaWorkflow } from "./app.ts";
import { Application, Rollout, type StepStatus, type WorkflowRun, type WorkflowStatusFields } from "./kinds.ts";
import { componentOf, groupType, parseApp, parseRun } from "./parse.ts";
import { requested } from "./workflow/status.ts";

// Browser-safe: the web interface uses it.

const isApplication = (object: KubeObject): boolean => object.kind === Application.kind;

/** The workflow as far as the object itself says. */
const workflowOf = (object: KubeObject): VelaWorkflow =>
  (isApplication(object) ? parseApp(object as Stored<Application>) : parseRun(object as Stored<WorkflowRun>)).workflow;

export const stepsOf = (object: KubeObject): readonly Step[] => workflowOf(object).steps;

/** Why an application does not go on before it, or something that it refers to, is changed. */
export function refusalOf(object: KubeObject): string | undefined {
  if (!isApplication(object)) return undefined;
  const { conditions = [] } = (object as Application).status ?? {};
  const parsed = conditions.find(({ type }) => type === "Parsed");
  return parsed?.status === "False" ? (parsed.message ?? "the application cannot be read") : undefined;
}

/** Of the run as a whole, or what keeps it from starting. */
function messageOf(object: KubeObject, { message = "" }: WorkflowStatusFields): string {
  if (message !== "" || !isApplication(object)) return message;
  const { conditions = [] } = (object as Application).status ?? {};
  const failing = conditions.find(({ status, reason }) => status === "False" && reason === "ReconcileError");
  return failing?.message ?? "";
}

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

/** The status is of an earlier specification. */
function isChanged(object: KubeObject): boolean {
  if (!isApplication(object)) return false;
  const { observedGeneration } = (object as Application).status ?? {};
  return observedGeneration !== undefined && observedGeneration !== object.metadata.generation;
}

/** An Application or a WorkflowRun as a run. */
export function viewRun(object: KubeObject): RunView {
  const { apiVersion, kind, metadata } = object;
  const { name = "", namespace, uid } = metadata;
  const status = workflowStatusOf(object);
  const native = nativePhaseOf(object);
  const message = messageOf(object, status);
  const phase = isChanged(object)
    ? "Pending"
    : ((isApplication(object) ? applicationPhases : runPhases)[native] ?? "Pending");
  const steps = viewSteps(object, status);
  const [startedAt, finishedAt] = [parseInstant(status.startTime), parseInstant(status.endTime)];
  const ref: ObjectRef = {
    apiVersion,
    kind,
    name,
    ...defined({ namespace, uid }),
  };
  return {
    ref,
    dialect: "vela",
    name: name === "" ? (metadata.generateName ?? "") : name,
    phase,
    nativePhase: native,
    number: 1,
    createdAt: parseInstant(metadata.creationTimestamp) ?? 0,
    ...defined({ startedAt, finishedAt }),
    ...(message === "" ? {} : { message }),
    progress: { done: steps.filter((step) => isDone(step.phase)).length, total: steps.length },
    steps,
    children: [],
    actions: actionsOf(phase, status, steps),
  };
}

const isDone = (phase: StepPhase): boolean => ["Succeeded", "Failed", "Skipped", "Canceled"].includes(phase);

/** A run that only waits for its suspended steps goes on when these are approved. */
function actionsOf(
  phase: RunPhase,
  { suspend, suspendState }: WorkflowStatusFields,
  steps: readonly StepView[],
): readonly ActionName[] {
  if (phase === "Cancelling") return [];
  if (isDone(phase)) return ["retry"];
  const isHeld = suspendState === requested || steps.every((step) => step.phase !== "Suspended");
  return suspend === true && isHeld ? ["cancel", "resume"] : ["cancel", "suspend"];
}

type AnyStepStatus = Omit<StepStatus, "subSteps">;

interface Listed {
  readonly step: Step;
  readonly status: AnyStepStatus;
  readonly id: string;
  readonly group?: string;
  /** Names of the steps of the same list that come before. */
  readonly before: readonly string[];
}

/** Steps as declared, then those that only the status knows, such as those of a Workflow that it refers to. */
function viewSteps(object: KubeObject, status: WorkflowStatusFields): readonly StepView[] {
  const { steps, modes } = workflowOf(object);
  const known = new Set(steps.map(({ name }) => name));
  const others = (status.steps ?? []).filter(({ name = "" }) => !known.has(name)).map(statusStep);
  const all = [...steps, ...others];
  const listed = all.flatMap((step, index): readonly Listed[] => {
    const found = (status.steps ?? []).find(({ name }) => name === step.name);
    const subSteps = found?.subSteps ?? [];
    const own = { step, status: withGroupEnd(found), id: step.name, before: beforeOf(all, index, modes.steps) };
    const inner = step.subSteps.map((sub, at) => ({
      step: sub,
      status: subSteps.find(({ name }) => name === sub.name) ?? {},
      id: `${step.name}/${sub.name}`,
      group: step.name,
      before: beforeOf(step.subSteps, at, step.mode ?? modes.subSteps),
    }));
    return [own, ...inner];
  });
  return ranked(object, listed);
}

const statusStep = ({ name = "", type = "", subSteps = [] }: StepStatus): Step => ({
  name,
  type,
  stage: "post-render",
  dependsOn: [],
  inputs: [],
  outputs: [],
  properties: {},
  subSteps: subSteps.map(statusStep),
});

/** A group has ended when its last step has. */
function withGroupEnd(status: StepStatus | undefined): AnyStepStatus {
  if (status === undefined) return {};
  const { subSteps = [], ...own } = status;
  const last = subSteps
    .flatMap(({ lastExecuteTime }) => lastExecuteTime ?? [])
    .toSorted()
    .at(-1);
  return last === undefined ? own : { ...own, lastExecuteTime: last };
}

/** The step before in a list that runs step by step; else dependencies and the producers of inputs. */
function beforeOf(steps: readonly Step[], index: number, mode: Mode): readonly string[] {
  const step = steps[index];
  if (step === undefined) return [];
  if (mode === "StepByStep") return steps.slice(Math.max(0, index - 1), index).map(({ name }) => name);
  const needed = [step, ...step.subSteps].flatMap((each) => [
    ...each.dependsOn,
    ...each.inputs.flatMap(({ from }) => producersOf(steps, from)),
  ]);
  return [...new Set(needed)].filter((name) => name !== step.name && steps.some((other) => other.name === name));
}

const producersOf = (steps: readonly Step[], from: string): readonly string[] =>
  steps.flatMap((step) => {
    const outputs = [step, ...step.subSteps].flatMap((each) => each.outputs);
    return outputs.some(({ name }) => from === name || from.startsWith(`${name}.`)) ? [step.name] : [];
  });

function ranked(object: KubeObject, listed: readonly Listed[]): readonly StepView[] {
  const byId = new Map(listed.map((one) => [one.id, one]));
  const idIn = (group: string | undefined, name: string) => (group === undefined ? name : `${group}/${name}`);
  const ranks = new Map<string, number>();
  const rankOf = ({ id, group, before }: Listed): number => {
    const known = ranks.get(id);
    if (known !== undefined) return known;
    // A circle, which admission refuses, counts once.
    ranks.set(id, 0);
    const others = before.flatMap((name) => byId.get(idIn(group, name)) ?? []);
    const rank = Math.max(-1, ...others.map(rankOf)) + 1;
    ranks.set(id, rank);
    return rank;
  };
  return listed.map((one) => {
    const dependencies = one.before.map((name) => idIn(one.group, name));
    const phase = stepPhaseOf(one.status);
    const waitingFor = dependencies.filter((id) => !isDone(stepPhaseOf(byId.get(id)?.status ?? {})));
    return {
      ...viewStep(one, phase),
      logs: phase === "Pending" ? [] : logsOf(object, one),
      id: one.id,
      ...defined({ group: one.group }),
      dependencies,
      waitingFor: phase === "Pending" ? waitingFor : [],
      rank: rankOf(one),
    };
  });
}

/** Steps that apply every component. */
const appliesAll: ReadonlySet<string> = new Set([
  "deploy",
  "apply-application",
  "apply-remaining",
  "blue-green-rollout",
]);

/** Lines that the step prints, and the Pods of the component that it applies. */
function logsOf({ apiVersion, kind, metadata }: KubeObject, { step, status }: Listed): StepView["logs"] {
  if (step.type === groupType) return [];
  const { name = "", namespace, uid } = metadata;
  const object = { apiVersion, kind, name, ...defined({ namespace, uid }) };
  const attempt = status.attempts ?? 1;
  const printed = { name: step.name, object, container: step.name, isOwn: true, attempt };
  const component = componentOf(step);
  if (component === undefined && !appliesAll.has(step.type)) return [printed];
  return [printed, { name: step.name, object, attempt, pods: objectsOf(name, component) }];
}

type BareStep = Omit<StepView, "logs" | "id" | "dependencies" | "waitingFor" | "rank" | "group">;

function viewStep({ step, status }: Listed, phase: StepPhase): BareStep {
  const { reason, message, attempts = 0, firstExecuteTime, lastExecuteTime, nextTime, resourceRef } = status;
  const [startedAt, notBefore] = [parseInstant(firstExecuteTime), parseInstant(nextTime)];
  const finishedAt = isDone(phase) ? parseInstant(lastExecuteTime) : undefined;
  const { apiVersion, kind, name: child, namespace } = resourceRef ?? {};
  const hasChild = apiVersion !== undefined && kind !== undefined && child !== undefined;
  const waits = phase === "Waiting" ? { reason: waitReason(status) } : {};
  return {
    name: step.alias ?? step.name,
    phase,
    nativePhase: status.phase ?? "",
    attempt: attempts,
    ...(step.retry === undefined ? {} : { attempts: step.retry.limit + 1 }),
    ...defined({ startedAt, finishedAt, notBefore }),
    ...(reason === undefined || reason === "" ? {} : { reason }),
    ...(message === undefined || message === "" ? {} : { message }),
    ...waits,
    ...(hasChild ? { child: { apiVersion, kind, name: child, ...defined({ namespace }) } } : {}),
    artifacts: [],
    actions: isAsking(status) ? ["approve", "reject"] : [],
  };
}

/** A suspended step, or one that waits for a Rollout. */
const isAsking = ({ phase, resourceRef }: AnyStepStatus): boolean =>
  phase === "suspending" || (phase === "running" && resourceRef?.kind === Rollout.kind);

const waitReason = ({ phase }: AnyStepStatus): string => (phase === "failed" ? "Backoff" : "Inputs");

function stepPhaseOf({ phase, reason, message = "" }: AnyStepStatus): StepPhase {
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
    case "pending":
    case undefined:
    default:
      return message.startsWith("Pending on Input") ? "Waiting" : "Pending";
  }
}
