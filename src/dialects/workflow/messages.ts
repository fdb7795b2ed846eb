import { formatAge } from "#lib/base/index.ts";
import { normal, type Notice, warning } from "#kernel/model/index.ts";
import {
  diff,
  isTerminal,
  type ItemNote,
  type Note,
  reasons,
  type RunNote,
  type RunState,
  type StepNote,
  stepState,
} from "#engine/index.ts";

export type { Notice };

export const cachedReason = "Cached";

/** Keeps a deleted workflow until its active children are gone. */
export const finalizer = "slipway.dev/workflow";

export const queuedReason = "Queued";

/** Annotation that releases a workflow whose children cannot be deleted. */
export const abandonAnnotation = "slipway.dev/abandon";

/** Events that no difference of two runs shows; for all others see `noticesBetween`. */
export const notices = {
  created: (name: string) => normal("WorkflowCreated", `workflow "${name}" was accepted`, "Accept"),
  deleted: (name: string) => normal("WorkflowDeleted", `workflow "${name}" was deleted`, "Delete"),
  invalid: (message: string) => warning("InvalidSpec", message, "Validate"),
  stray: (kind: string, name: string) =>
    warning(
      "UnexpectedChild",
      `${kind} "${name}" has this workflow's uid but was not created by it; it is ignored`,
      "Observe",
    ),
  nothingToReuse: (name: string) =>
    warning("NothingToReuse", `workflow "${name}" no longer exists or cannot be read; running every step`, "Reuse"),
  itemsCached: (step: string, count: number) =>
    normal(
      "StepCached",
      `${count} ${count === 1 ? "item" : "items"} of step "${step}" took an earlier result`,
      "Reuse",
    ),
  notCached: (step: string, message: string) =>
    warning("CacheNotStored", `the result of step "${step}" is not kept for others: ${message}`, "Store"),
  notNotified: (to: number, event: string, problem: string) =>
    warning("NotificationFailed", `notification ${to} of ${event} was given up after an hour: ${problem}`, "Notify"),
  cleanupFailed: (names: string) =>
    warning(
      "CleanupFailed",
      `deletion is blocked by children that cannot be deleted: ${names}; set the annotation ${abandonAnnotation} to "true" to delete the workflow anyway`,
      "Delete",
    ),
  cleanupUnseen: (why: string) =>
    warning(
      "CleanupFailed",
      `deletion is blocked by children that cannot be read: ${why}; set the annotation ${abandonAnnotation} to "true" to delete the workflow anyway`,
      "Delete",
    ),
} as const;

/** Events between two stored runs, in order. Pure. Several moves of a step in one pass are one event. */
export function noticesBetween(before: RunState, after: RunState): readonly Notice[] {
  const told: Notice[] = [];
  if (after.number > before.number)
    told.push(normal("WorkflowRetried", `run ${after.number} re-runs the steps that did not succeed`, "Retry"));
  if (after.startedAt !== undefined && before.startedAt !== after.startedAt)
    told.push(
      normal(
        "WorkflowStarted",
        after.number === 1 ? "the workflow has started" : `run ${after.number} has started`,
        "Start",
      ),
    );
  if (after.suspendedSince !== undefined && before.suspendedSince === undefined)
    told.push(normal("WorkflowSuspended", "no new steps start; running children continue", "Suspend"));
  if (after.suspendedSince === undefined && before.suspendedSince !== undefined && !isTerminal(after.phase))
    told.push(normal("WorkflowResumed", "the workflow was resumed", "Resume"));
  if (after.closing === "Deadline" && before.closing !== "Deadline")
    told.push(
      warning(
        "DeadlineExceeded",
        "the workflow took longer than activeDeadlineSeconds; active steps are being canceled",
        "Cancel",
      ),
    );
  told.push(...lockNotices(before, after));
  for (const note of diff(before, after)) if (!isSameStart(note, before)) told.push(...noticesOf(note, after));
  return told;
}

/** A refused start is retried as the same attempt, reported once. */
const isSameStart = (note: Note, before: RunState): boolean =>
  note.kind === "step" && note.to === "Starting" && stepState(before, note.step).refused === true;

/** A wait for locks is reported once, if it lasts. */
function lockNotices(before: RunState, after: RunState): readonly Notice[] {
  const isQueued = ({ phase, reason, message }: RunState): boolean =>
    phase === "Pending" && reason === queuedReason && message !== undefined;
  const queued =
    isQueued(after) && !isQueued(before) ? [normal("LockWaiting", `the workflow waits: ${after.message}`, "Wait")] : [];
  const waiting = Object.keys(after.steps).flatMap((key) => {
    const [old, step] = [stepState(before, key), stepState(after, key)];
    const isTold = (state: typeof step): boolean =>
      state.message !== undefined && state.reason === "Lock" && state.refused !== true;
    const isNew =
      old !== step && isTold(step) && !isTold(old) && (step.phase === "Waiting" || step.phase === "Running");
    return isNew ? [normal("LockWaiting", `step "${key}" waits: ${step.message}`, "Wait")] : [];
  });
  return [...queued, ...waiting];
}

function noticesOf(note: Note, after: RunState): readonly Notice[] {
  switch (note.kind) {
    case "step":
      return stepNotices(note);
    case "item":
      return [itemNotice(note)];
    case "run":
      return runNotices(note, after);
  }
}

function itemNotice({ step, index, attempt, reason = "", message }: ItemNote): Notice {
  const why = message === undefined ? reason : `${reason}: ${message}`;
  return warning("StepFailed", `item ${index} of step "${step}" failed in attempt ${attempt}: ${why}`);
}

/** Nothing for Pending. A starting timer is reported as running. */
function stepNotices(note: StepNote): readonly Notice[] {
  const why = [note.reason, note.message].filter((text) => text !== undefined && text !== "").join(": ");
  const step = `step "${note.step}"`;
  const because = why === "" ? "" : `: ${why}`;
  switch (note.to) {
    case "Starting":
      return [normal("StepStarted", `${step} starts attempt ${note.attempt}`, "Start")];
    case "Running":
      return note.from === "Starting" || note.attempt === 0
        ? []
        : [normal("StepStarted", `${step} is running`, "Start")];
    case "Succeeded":
      if (note.reason === cachedReason) return [normal("StepCached", `${step} has the ${note.message}`, "Reuse")];
      if (note.from === "Suspended") return [normal("StepApproved", `${step} succeeded${because}`, "Approve")];
      return [normal("StepSucceeded", `${step} succeeded`)];
    case "Failed":
      if (note.reason === reasons.rejected) return [normal("StepRejected", `${step} failed${because}`, "Reject")];
      return [warning(note.reason === "Timeout" ? "StepTimedOut" : "StepFailed", `${step} failed${because}`)];
    case "Skipped":
      return [normal("StepSkipped", `${step} was skipped${because}`)];
    case "Canceled":
      return [normal("StepCanceled", `${step} was canceled${because}`, "Cancel")];
    case "Cancelling":
      return note.reason === "Timeout" ? [warning("StepTimedOut", `${step} is ended${because}`, "Cancel")] : [];
    case "Waiting":
      return waitNotices(note, step);
    case "Suspended":
      return [normal("ApprovalRequested", `${step} waits for approval${because}`, "Ask")];
    case "Pending":
      return [];
  }
}

/** Waiting for a slot is ordinary; other waits are reported. */
function waitNotices({ reason, message = "" }: StepNote, step: string): readonly Notice[] {
  if (reason === "Backoff") return [warning("StepRetrying", `${step} is tried again after ${message}`, "Retry")];
  return reason === "Quota" ? [normal("QuotaWaiting", `${step} waits for quota: ${message}`)] : [];
}

function runNotices({ to }: RunNote, after: RunState): readonly Notice[] {
  if (!isTerminal(to)) return [];
  const took = formatAge((after.finishedAt ?? 0) - (after.startedAt ?? after.finishedAt ?? 0));
  const failed = Object.entries(after.steps).flatMap(([key, step]) => (step.phase === "Failed" ? [key] : []));
  const steps =
    failed.length === 0 ? "" : `; failed: ${failed.slice(0, 10).join(", ")}${failed.length > 10 ? ", …" : ""}`;
  const reason = after.reason === undefined || after.reason === to ? "" : ` (${after.reason})`;
  const note = `${to}${reason} after ${took}${steps}`;
  return [to === "Succeeded" ? normal("WorkflowEnded", note, "End") : warning("WorkflowEnded", note, "End")];
}
