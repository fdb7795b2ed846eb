import { formatAge, type Millis, parseInstant } from "#lib/base/index.ts";
import { normal, type Notice, warning } from "#kernel/model/index.ts";
import type { ApplicationStatus, StepStatus, WorkflowStatusFields } from "./kinds.ts";
import { requested } from "./workflow/status.ts";

// Events are differences between two stored statuses, so that a restart of the server repeats none.

/** Events that no difference of two statuses shows. */
export const notices = {
  restartUnreadable: (text: string) =>
    warning(
      "InvalidRestart",
      `the annotation app.oam.dev/restart-workflow is ${JSON.stringify(text)}; expected true, an RFC 3339 time or a duration such as 5m`,
      "Restart",
    ),
  unmentioned: (components: readonly string[]) =>
    warning(
      "ComponentNotApplied",
      `no step of the workflow applies ${components.length === 1 ? "component" : "components"} ${components.join(", ")}`,
      "Apply",
    ),
  /** For policy `security` with `audit`. */
  operation: (what: string, by?: string) =>
    normal(
      "WorkflowOperation",
      by === undefined ? `${what} by an edit of the application` : `${what} by ${by}`,
      "Audit",
    ),
  collected: (count: number) =>
    normal("GarbageCollected", `${count} outdated ${count === 1 ? "object was" : "objects were"} deleted`, "Delete"),
  notCollected: (why: string) => warning("FailedGC", why, "Delete"),
  notKept: (why: string) => warning("FailedStateKeep", why, "Apply"),
  deleted: (name: string) => normal("ApplicationDeleted", `application "${name}" was deleted`, "Delete"),
  edited: (field: string) =>
    warning("StatusRestored", `a change of ${field} in the status is no command and was undone`, "Reconcile"),
} as const;

/** `fails` names the event of False. */
const conditionEvents: Readonly<
  Record<string, { readonly holds: string; readonly note: string; readonly fails: string }>
> = {
  Parsed: { holds: "Parsed", note: "the application was parsed", fails: "FailedParse" },
  Render: { holds: "Rendered", note: "components and traits were rendered", fails: "FailedRender" },
  Policy: { holds: "PolicyGenerated", note: "policies were applied", fails: "FailedPolicy" },
  Revision: { holds: "Revisioned", note: "", fails: "FailedRevision" },
};

export function applicationNotices(before: ApplicationStatus | undefined, after: ApplicationStatus): readonly Notice[] {
  return [
    ...conditionNotices(before, after),
    ...workflowNotices(before?.workflow, after.workflow),
    ...phaseNotices(before, after),
  ];
}

function conditionNotices(before: ApplicationStatus | undefined, after: ApplicationStatus): readonly Notice[] {
  const isNewRevision = before?.latestRevision?.name !== after.latestRevision?.name;
  return (after.conditions ?? []).flatMap((condition): readonly Notice[] => {
    const events = conditionEvents[condition.type];
    if (events === undefined) return [];
    const old = before?.conditions?.find(({ type }) => type === condition.type);
    if (condition.status === "False") {
      const isTold = old?.status === "False" && old.message === condition.message;
      return isTold ? [] : [warning(events.fails, condition.message ?? "", events.holds)];
    }
    if (condition.type === "Revision")
      return isNewRevision ? [normal(events.holds, `this is revision ${after.latestRevision?.name ?? ""}`)] : [];
    return old?.status === condition.status ? [] : [normal(events.holds, events.note)];
  });
}

function phaseNotices(before: ApplicationStatus | undefined, after: ApplicationStatus): readonly Notice[] {
  if (before?.status === after.status) return [];
  if (after.status === "running") return [normal("Deployed", "the application is running and healthy", "Observe")];
  if (after.status !== "unhealthy") return [];
  const sick = (after.services ?? []).filter(({ healthy }) => healthy !== true);
  const names = sick.map(({ name = "", message = "" }) => (message === "" ? name : `${name}: ${message}`)).join("; ");
  return [warning("Unhealthy", `not healthy: ${names}`, "Observe")];
}

/** Of an application's workflow or a WorkflowRun. */
export function workflowNotices(
  before: WorkflowStatusFields | undefined,
  after: WorkflowStatusFields | undefined,
): readonly Notice[] {
  if (after?.startTime === undefined) return [];
  const isRestart = before?.startTime !== undefined && before.startTime !== after.startTime;
  const old = isRestart ? undefined : before;
  const begun = isRestart
    ? [normal("WorkflowRestarted", "the workflow starts from its first step", "Restart")]
    : before?.startTime === undefined
      ? [normal("WorkflowStarted", "the workflow has started", "Start")]
      : [];
  const known = new Map(flatten(old).map((step) => [step.name, step]));
  const steps = flatten(after).flatMap((step) => stepNotices(known.get(step.name), step));
  const run = runNotices(old, after);
  // Of a run that a person suspends its steps tell nothing new, nor does the run of a step that suspends it.
  const isStep = ({ reason }: Notice) => reason === "StepSuspended";
  if (after.suspendState === requested && run.some(({ reason }) => reason === runSuspended))
    return [...begun, ...steps.filter((notice) => !isStep(notice)), ...run];
  return [...begun, ...steps, ...(steps.some(isStep) ? run.filter(({ reason }) => reason !== runSuspended) : run)];
}

type AnyStep = Omit<StepStatus, "subSteps">;

const flatten = (status: WorkflowStatusFields | undefined): readonly AnyStep[] =>
  (status?.steps ?? []).flatMap((step) => [...(step.subSteps ?? []), step]);

const longWait: Millis = 10 * 60_000;

const waitsLong = ({ phase, reason, firstExecuteTime, lastExecuteTime }: AnyStep): boolean => {
  if (phase !== "running" || reason !== "Wait") return false;
  const [first, last] = [firstExecuteTime, lastExecuteTime].map((text) => parseInstant(text));
  return first !== undefined && last !== undefined && last - first >= longWait;
};

/** Several moves in one pass are one event. */
function stepNotices(before: AnyStep | undefined, after: AnyStep): readonly Notice[] {
  const { phase, reason, message = "" } = after;
  const step = `step "${after.name ?? ""}"`;
  const because = message === "" ? "" : `: ${message}`;
  const isSame = before?.phase === phase && before?.reason === reason;
  switch (phase) {
    case "running":
      if (before?.firstExecuteTime === undefined) return [normal("StepStarted", `${step} has started`, "Start")];
      return waitsLong(after) && !waitsLong(before)
        ? [warning("StepWaitsLong", `${step} has been waiting for more than 10 minutes${because}`, "Wait")]
        : [];
    case "suspending":
      return isSame ? [] : [normal("StepSuspended", `${step} is suspended${because}`, "Suspend")];
    case "succeeded":
      return isSame ? [] : [normal("StepSucceeded", `${step} succeeded${because}`)];
    case "skipped":
      return isSame ? [] : [normal("StepSkipped", `${step} was skipped${because}`)];
    case "failed":
      if (reason === "Execute")
        return isSame && before?.message === message
          ? []
          : [warning("StepRetrying", `${step} failed and is retried${because}`, "Retry")];
      return isSame ? [] : [warning(reason === "Timeout" ? "StepTimedOut" : "StepFailed", `${step} failed${because}`)];
    case undefined:
    default:
      return [];
  }
}

const runSuspended = "WorkflowSuspended";

function runNotices(before: WorkflowStatusFields | undefined, after: WorkflowStatusFields): readonly Notice[] {
  const told: Notice[] = [];
  if (after.suspend === true && before?.suspend !== true && after.finished !== true)
    told.push(normal(runSuspended, "the workflow is suspended", "Suspend"));
  if (after.suspend !== true && before?.suspend === true && after.finished !== true)
    told.push(normal("WorkflowResumed", "the workflow was resumed", "Resume"));
  if (after.finished === true && before?.finished !== true) told.push(endNotice(after));
  return told;
}

function endNotice({ status, message = "", startTime, endTime }: WorkflowStatusFields): Notice {
  const [begun, ended] = [parseInstant(startTime), parseInstant(endTime)];
  const took = begun === undefined || ended === undefined ? "" : ` after ${formatAge(ended - begun)}`;
  const because = message === "" ? "" : `: ${message}`;
  if (status === "succeeded" || status === "skipped") return normal("WorkflowSucceeded", `succeeded${took}`, "End");
  if (status === "terminated") return warning("WorkflowTerminated", `terminated${took}${because}`, "End");
  return warning("WorkflowFailed", `failed${took}${because}`, "End");
}
