import { err, ok, type Result } from "#lib/base/index.ts";
import { groupType } from "../parse.ts";
import type { Step, VelaWorkflow } from "../app.ts";
import { placesOf, producersOf } from "./plan.ts";
import {
  flatSteps,
  isRetried,
  isSettled,
  requested,
  stepReasons,
  type StepStatus,
  type WorkflowStatus,
} from "./status.ts";

// Commands of people as changes of the status: of RunActions, and of statuses that were edited.

export type Command =
  | { readonly kind: "suspend" | "resume"; readonly step?: string }
  | { readonly kind: "terminate"; readonly message?: string }
  /** From the beginning, or from a failed step. */
  | { readonly kind: "restart"; readonly step?: string };

/** What a person meant who edited the status. Other edits are overwritten. */
export function editsOf(status: WorkflowStatus | undefined): readonly Command[] {
  if (status?.startTime === undefined || status.finished === true) return [];
  const isEnding = flatSteps(status).some((step) => step.phase === "failed" && !isRetried(step));
  if (status.terminated === true && status.status !== "terminated" && !isEnding) return [{ kind: "terminate" }];
  if (status.suspend === true && status.status !== "suspending") return [{ kind: "suspend" }];
  if (status.suspend === false && status.status === "suspending") return [{ kind: "resume" }];
  return [];
}

const finished = "workflow is finished";

/** The changed status; undefined for a run that begins anew. */
export function applyCommand(
  status: WorkflowStatus | undefined,
  command: Command,
  workflow: VelaWorkflow,
): Result<WorkflowStatus | undefined, string> {
  if (command.kind === "restart")
    return command.step === undefined ? ok(undefined) : restartStep(status ?? {}, command.step, workflow);
  if (status?.finished === true) return err(finished);
  switch (command.kind) {
    case "suspend":
      return suspend(status ?? {}, command.step);
    case "resume":
      return resume(status ?? {}, command.step);
    case "terminate":
      return ok(terminate(status ?? {}, command.message));
  }
}

type Change = (step: StepStatus) => StepStatus;

/** Of all leaf steps; groups follow from their steps. */
const mapSteps = (status: WorkflowStatus, change: Change): WorkflowStatus => ({
  ...status,
  steps: (status.steps ?? []).map((step) =>
    step.type === groupType ? { ...step, subSteps: (step.subSteps ?? []).map(change) } : change(step),
  ),
});

const find = (status: WorkflowStatus, name: string): StepStatus | undefined =>
  flatSteps(status).find((step) => step.name === name);

const without = (step: StepStatus, ...names: readonly (keyof StepStatus)[]): StepStatus =>
  Object.fromEntries(Object.entries(step).filter(([name]) => !names.some((each) => each === name)));

function suspend(status: WorkflowStatus, name?: string): Result<WorkflowStatus, string> {
  if (name !== undefined && find(status, name)?.phase !== "running") return err(`step ${name} is not running`);
  const suspended = mapSteps(status, (step) => {
    const isMeant = step.phase === "running" && (name === undefined || step.name === name);
    return isMeant ? { ...without(step, "nextTime"), phase: "suspending", reason: stepReasons.suspend } : step;
  });
  const held = name === undefined ? { suspendState: requested } : {};
  return ok({ ...suspended, suspend: true, status: "suspending", ...held });
}

/** Steps whose retries are used up get fresh ones. */
function resume(status: WorkflowStatus, name?: string): Result<WorkflowStatus, string> {
  const isOut = (step: StepStatus) => step.phase === "failed" && step.reason === stepReasons.retries;
  const isMeant = (step: StepStatus) =>
    (step.phase === "suspending" || isOut(step)) && (name === undefined || step.name === name);
  if (name !== undefined && !flatSteps(status).some(isMeant)) return err(`step ${name} is not suspended`);
  const resumed = mapSteps(status, (step) => {
    if (!isMeant(step)) return step;
    if (isOut(step)) return { ...without(step, "failures", "waits", "nextTime"), reason: stepReasons.execute };
    return { ...without(step, "nextTime"), phase: "running", reason: stepReasons.suspend };
  });
  const isStillSuspended = flatSteps(resumed).some(
    (step) => step.type !== groupType && (step.phase === "suspending" || isOut(step)),
  );
  if (isStillSuspended) return ok(resumed);
  return ok({ ...resumed, suspend: false, suspendState: "", status: "executing", message: "" });
}

/** What has not started is skipped by its gate. */
function terminate(status: WorkflowStatus, message = "terminated by a person"): WorkflowStatus {
  const ended = mapSteps(status, (step) => {
    const isActive = step.phase === "running" || step.phase === "suspending" || isRetried(step);
    if (!isActive) return step;
    return { ...without(step, "nextTime"), phase: "failed", reason: stepReasons.terminate, message };
  });
  return { ...ended, terminated: true, suspend: false, suspendState: "", status: "terminated", message };
}

/** Only a failed step. Steps that come after it or depend on it start again with it. */
function restartStep(status: WorkflowStatus, name: string, workflow: VelaWorkflow): Result<WorkflowStatus, string> {
  const entry = find(status, name);
  if (entry?.phase !== "failed" || !isSettled(entry)) return err(`step ${name} is not failed`);
  const again = againFrom(workflow, name);
  const reset = (step: StepStatus): StepStatus => {
    if (!again.has(step.name ?? "")) return step;
    const { id, type, attempts, executions } = step;
    const kept = { id, name: step.name, type, phase: "pending", attempts, executions };
    return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
  };
  const steps = (status.steps ?? []).map((step): StepStatus => {
    const subSteps = step.subSteps?.map(reset);
    const inner = subSteps === undefined ? {} : { subSteps };
    if (again.has(step.name ?? "")) return { ...reset(step), ...inner };
    const isContainer = step.subSteps?.some((sub) => again.has(sub.name ?? "")) === true;
    return isContainer ? { ...without(step, "reason", "message"), phase: "running", ...inner } : step;
  });
  const { endTime: _endTime, message: _message, ...rest } = status;
  return ok({
    ...rest,
    steps,
    finished: false,
    terminated: false,
    suspend: false,
    suspendState: "",
    status: "executing",
  });
}

/** Names of steps to run again. The group that contains the step goes on with its other steps. */
function againFrom(workflow: VelaWorkflow, name: string): ReadonlySet<string> {
  const places = placesOf(workflow);
  const place = places.find(({ step }) => step.name === name);
  const again = new Set<string>();
  if (place === undefined) return again;
  const add = (step: Step) => {
    again.add(step.name);
    for (const sub of step.subSteps) again.add(sub.name);
  };
  const addFrom = (siblings: readonly Step[], root: Step, mode: string) => {
    const later = siblings.slice(siblings.indexOf(root) + 1);
    if (mode === "StepByStep") later.forEach(add);
    else for (const step of dependants(siblings, root.name)) add(step);
  };
  const dependants = (siblings: readonly Step[], root: string): readonly Step[] => {
    const found = new Set<Step>();
    const names = new Set([root]);
    for (let size = 0; size !== names.size; ) {
      size = names.size;
      for (const step of siblings) {
        const needed = [step, ...step.subSteps].flatMap((each) => [...each.dependsOn, ...producersOf(places, each)]);
        if (!needed.some((each) => names.has(each)) || step.name === root) continue;
        found.add(step);
        names.add(step.name);
      }
    }
    return [...found];
  };
  add(place.step);
  addFrom(place.siblings, place.step, place.mode);
  if (place.group !== undefined) addFrom(workflow.steps, place.group, workflow.modes.steps);
  return again;
}
