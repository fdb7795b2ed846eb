import { defined, formatInstant, type Instant, parseInstant } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { isTerminal, newRun, pendingStep, reasons, type RunState, type StepState, stepState } from "#engine/index.ts";
import type { Step, VelaWorkflow } from "../app.ts";
import type { WorkflowSettings } from "./delays.ts";
import { groupStatus } from "./group-status.ts";
import { messages } from "../messages.ts";
import { isGroup, placesOf, retriesOf } from "./plan.ts";
import {
  flatSteps,
  isRetried,
  isSettled,
  requested,
  type ResourceRef,
  stepReasons,
  type StepStatus,
  type WorkflowPhase,
  type WorkflowStatus,
} from "./status.ts";

// The status is the only record of a run: what happened to a step is in its entry there, and the engine's state follows
// from it. Fields that are unknown here are kept.

/** How the execution before the current one ended. */
export type LastEnd = "none" | "error" | "wait" | "suspended";

export function lastEndOf({ phase, reason, failures = 0 }: StepStatus): LastEnd {
  if (phase === "suspending" || (phase === "running" && reason === stepReasons.suspend)) return "suspended";
  if (phase === "running" && reason === stepReasons.wait) return "wait";
  return phase === "failed" || failures > 0 ? "error" : "none";
}

/** Of a step that is under way: its next execution, or the end of its suspension. */
export const nextAtOf = ({ phase, nextTime }: StepStatus): Instant | undefined =>
  phase === "failed" ? undefined : parseInstant(nextTime);

export interface DecodedRun {
  readonly run: RunState;
  /** What the status has of a step, by its name. */
  readonly entries: ReadonlyMap<string, StepStatus>;
  readonly isTerminated: boolean;
  /** A person suspended the run. */
  readonly isHeld: boolean;
}

/** 10 lower-case alphanumerics, the same over the whole run. */
export const stepIdOf = (runUid: string, name: string): string => hashName([runUid, name], 10);

export const entriesOf = (status: WorkflowStatus | undefined): ReadonlyMap<string, StepStatus> =>
  new Map(flatSteps(status).map((entry) => [entry.name ?? "", entry]));

export function decodeRun(
  status: WorkflowStatus | undefined,
  workflow: VelaWorkflow,
  settings: WorkflowSettings,
): DecodedRun {
  const entries = entriesOf(status);
  const steps: Record<string, StepState> = {};
  for (const { id, step } of placesOf(workflow)) {
    const entry = entries.get(step.name);
    if (entry === undefined) continue;
    const state = isGroup(step) ? decodeGroup(entry) : decodeStep(entry, settings);
    if (state !== pendingStep) steps[id] = state;
  }
  const times = { startedAt: parseInstant(status?.startTime), finishedAt: parseInstant(status?.endTime) };
  return {
    run: { ...newRun, phase: runPhase(status), steps, ...defined(times) },
    entries,
    isTerminated: status?.terminated === true && status.status === "terminated",
    isHeld: status?.suspend === true && status.suspendState === requested,
  };
}

function runPhase(status: WorkflowStatus | undefined): RunState["phase"] {
  if (status?.finished === true) {
    if (status.status === "terminated") return "Canceled";
    return status.status === "failed" ? "Failed" : "Succeeded";
  }
  return status?.startTime === undefined ? "Pending" : "Running";
}

function decodeGroup(entry: StepStatus): StepState {
  if (isSettled(entry)) return decodeSettled(entry);
  const startedAt = parseInstant(entry.firstExecuteTime);
  if (startedAt === undefined) return pendingStep;
  return { phase: "Running", attempt: 1, startedAt, readyAt: startedAt };
}

function decodeSettled(entry: StepStatus): StepState {
  const { attempts = 0, failures = 0, reason, message } = entry;
  const phase = entry.phase === "succeeded" ? "Succeeded" : entry.phase === "skipped" ? "Skipped" : "Failed";
  const earlier = Math.max(0, attempts - failures - (phase === "Succeeded" ? 1 : 0));
  return {
    phase,
    attempt: attempts,
    ...timesOf(entry),
    ...(earlier === 0 ? {} : { earlierAttempts: earlier }),
    ...(phase === "Skipped" ? { reason: "ConditionFalse" } : {}),
    ...(phase === "Failed" && reason !== undefined ? { reason } : {}),
    ...defined({ message }),
  };
}

function timesOf(entry: StepStatus): Pick<StepState, "startedAt" | "readyAt"> {
  const startedAt = parseInstant(entry.firstExecuteTime);
  return startedAt === undefined ? {} : { startedAt, readyAt: startedAt };
}

/** Unknown phases count as pending. */
function decodeStep(entry: StepStatus, settings: WorkflowSettings): StepState {
  const { attempts = 0, failures = 0, phase, reason } = entry;
  const isOver = isSettled(entry) && !(settings.suspendOnFailure && reason === stepReasons.retries);
  if (isOver) return decodeSettled(entry);
  const earlier = (active: 0 | 1) => {
    const count = Math.max(0, attempts - failures - active);
    return count === 0 ? {} : { earlierAttempts: count };
  };
  if (phase === "running" || phase === "suspending") {
    const seen = phase === "suspending" || reason === stepReasons.wait || reason === stepReasons.suspend;
    return { phase: seen ? "Running" : "Starting", attempt: Math.max(1, attempts), ...timesOf(entry), ...earlier(1) };
  }
  if (phase === "failed") {
    const notBefore = parseInstant(entry.nextTime) ?? 0;
    return { phase: "Waiting", reason: "Backoff", attempt: attempts, notBefore, ...timesOf(entry), ...earlier(0) };
  }
  return attempts === 0 ? pendingStep : { phase: "Pending", attempt: attempts, earlierAttempts: attempts };
}

export interface Encoding extends Omit<DecodedRun, "run"> {
  readonly run: RunState;
  readonly workflow: VelaWorkflow;
  readonly settings: WorkflowSettings;
  readonly runUid: string;
  readonly now: Instant;
  /** Why steps are pending, by id. */
  readonly pending: ReadonlyMap<string, string>;
  readonly contextBackend?: ResourceRef;
}

/** The status of a run; fields of `previous` that are not of the run are kept. */
export function encodeRun(from: Encoding, previous: WorkflowStatus | undefined): WorkflowStatus {
  const steps = from.workflow.steps.flatMap((step): StepStatus | readonly StepStatus[] => {
    const entry = encodeStep(from, step.name, step) ?? [];
    if (!isGroup(step) || "length" in entry) return entry;
    const subSteps = step.subSteps.flatMap((sub) => encodeStep(from, `${step.name}/${sub.name}`, sub) ?? []);
    const own = stepState(from.run, step.name);
    const phase = own.phase === "Pending" ? {} : groupStatus(own, entry, subSteps, step.subSteps.length);
    return { ...entry, ...phase, ...(subSteps.length === 0 ? {} : { subSteps }) };
  });
  return { ...previous, ...summarize(from, steps, previous), steps };
}

/** Steps that nothing has happened to are not listed. */
function encodeStep(from: Encoding, id: string, step: Step): StepStatus | undefined {
  const state = stepState(from.run, id);
  const entry = from.entries.get(step.name);
  const pending = from.pending.get(id);
  if (state.phase === "Pending" && pending === undefined && entry === undefined) return undefined;
  const [phase, reason] = phaseOf(from, step, state, entry ?? {});
  const isOver = isTerminal(state.phase);
  const told = entry?.phase === "pending" ? undefined : entry?.message;
  const message = state.phase === "Pending" ? pending : isOver ? (state.message ?? told) : told;
  const tries = state.attempt - (state.earlierAttempts ?? 0);
  const isUnderWay = state.phase === "Starting" || state.phase === "Running" || state.phase === "Succeeded";
  const nextAt = state.phase === "Waiting" ? state.notBefore : isUnderWay ? nextAtOf(entry ?? {}) : undefined;
  return defined({
    ...entry,
    id: stepIdOf(from.runUid, step.name),
    name: step.name,
    type: step.type,
    phase,
    reason: reason === "" ? undefined : reason,
    message: message === "" ? undefined : message,
    firstExecuteTime: time(state.startedAt, entry?.firstExecuteTime),
    lastExecuteTime: entry?.lastExecuteTime ?? time(state.startedAt, undefined),
    attempts: positive(state.attempt),
    failures: isGroup(step) ? undefined : positive(Math.max(0, tries - (isUnderWay ? 1 : 0))),
    waits: isOver ? undefined : positive(entry?.waits ?? 0),
    nextTime: isOver ? undefined : time(nextAt, entry?.nextTime),
    gate: state.phase === "Pending" ? undefined : state.phase !== "Skipped",
  });
}

const positive = (count: number): number | undefined => (count > 0 ? count : undefined);

/** Keeps the earlier text of the same instant. */
const time = (at: Instant | undefined, previous: string | undefined): string | undefined => {
  if (at === undefined) return undefined;
  return previous !== undefined && parseInstant(previous) === at ? previous : formatInstant(at);
};

function phaseOf({ settings }: Encoding, step: Step, state: StepState, entry: StepStatus): readonly [string, string] {
  switch (state.phase) {
    case "Pending":
      return ["pending", ""];
    case "Waiting":
      if (state.reason !== "Backoff") return ["pending", ""];
      return ["failed", triesUsedUp(step, state, settings) ? stepReasons.retries : stepReasons.execute];
    case "Starting":
      return ["running", ""];
    case "Running":
    case "Suspended":
      if (entry.phase === "suspending") return ["suspending", stepReasons.suspend];
      return ["running", lastEndOf(entry) === "suspended" ? stepReasons.suspend : stepReasons.wait];
    case "Succeeded":
      return ["succeeded", ""];
    case "Skipped":
      return ["skipped", stepReasons.skip];
    case "Failed":
    case "Canceled":
    case "Cancelling":
      return ["failed", failureReason(state.reason)];
  }
}

const triesUsedUp = (step: Step, state: StepState, settings: WorkflowSettings): boolean =>
  settings.suspendOnFailure && state.attempt - (state.earlierAttempts ?? 0) > retriesOf(step, settings);

function failureReason(reason: string | undefined): string {
  switch (reason) {
    case reasons.stepDeadline:
    case reasons.groupCanceled:
      return stepReasons.timeout;
    case stepReasons.execute:
    case undefined:
      return stepReasons.retries;
    case reasons.stepCanceled:
    case reasons.runCanceled:
      return stepReasons.terminate;
    default:
      return reason;
  }
}

/** The run as a whole. Who terminated a run decides its end only if no step failed otherwise. */
function summarize(from: Encoding, steps: readonly StepStatus[], previous: WorkflowStatus | undefined): WorkflowStatus {
  const all = flatSteps({ steps });
  const failed = all.filter((step) => step.phase === "failed" && !isRetried(step));
  const isOut = from.settings.suspendOnFailure && failed.some(({ reason }) => reason === stepReasons.retries);
  const isBusy = all.some((step) => step.phase === "running" || isRetried(step));
  const isFinished = isTerminal(from.run.phase);
  const isSuspended = from.isHeld || all.some(({ phase }) => phase === "suspending") || (isOut && !isBusy);
  const isEnding = from.isTerminated || (failed.length > 0 && !isOut);
  const finishedAt = from.run.finishedAt ?? from.now;
  return {
    status: phaseWord(from, failed, isFinished, isSuspended && !isFinished),
    message: summaryMessage(failed, from, isOut && isSuspended, previous?.message),
    suspend: isSuspended && !isFinished,
    ...(from.isHeld ? { suspendState: requested } : { suspendState: "" }),
    terminated: isEnding,
    finished: isFinished,
    stepIndex: settledPrefix(from.workflow, steps),
    ...defined({ contextBackend: from.contextBackend }),
    ...(from.run.startedAt === undefined ? {} : { startTime: time(from.run.startedAt, previous?.startTime) ?? "" }),
    ...(isFinished ? { endTime: time(finishedAt, previous?.endTime) ?? "" } : {}),
  };
}

function phaseWord(
  from: Encoding,
  failed: readonly StepStatus[],
  isFinished: boolean,
  isSuspended: boolean,
): WorkflowPhase {
  if (!isFinished) return isSuspended ? "suspending" : from.isTerminated ? "terminated" : "executing";
  if (failed.length === 0) return from.isTerminated ? "terminated" : "succeeded";
  return failed.every(({ reason }) => reason === stepReasons.terminate) ? "terminated" : "failed";
}

function summaryMessage(
  failed: readonly StepStatus[],
  from: Encoding,
  isSuspendedByFailure: boolean,
  previous: string | undefined,
): string {
  if (isSuspendedByFailure) return messages.retriesSuspend;
  if (failed.some(({ reason }) => reason === stepReasons.retries) && !from.settings.suspendOnFailure)
    return messages.retriesTerminate;
  const first = failed.find(({ message }) => message !== undefined);
  if (first?.message !== undefined) return first.message;
  return from.isTerminated ? (previous ?? "") : "";
}

function settledPrefix({ steps }: VelaWorkflow, entries: readonly StepStatus[]): number {
  const unsettled = steps.findIndex((step) => {
    const entry = entries.find(({ name }) => name === step.name);
    return entry === undefined || !isSettled(entry);
  });
  return unsettled < 0 ? steps.length : unsettled;
}
