import type { Instant } from "#lib/base/index.ts";
import { failures } from "./messages.ts";
import type { Settings } from "./settings.ts";
import { isTerminal, type WorkflowState } from "./state.ts";
import { andThen, beginCancel, cancel, fail, failRunning, letGo, type Move, runningAction } from "./transitions.ts";

// Instants are absolute and stored, and the wall clock is compared with them: who was away acts at once on what is overdue, and a clock that
// is set back makes things late, never early.

/** What the document asks for beside its state. */
export interface Asked {
  /** Somebody has deleted it. */
  readonly isDeleted: boolean;
  /** A person's command, which has not been carried out. */
  readonly cancelBy?: "User" | "CLI";
}

/**
 * What is due: cancellations somebody has asked for, and whatever a time has passed for. Undefined when nothing is. The earliest thing comes
 * first, so that a supervisor who was away decides as one who was there.
 */
export function supervise(state: WorkflowState, asked: Asked, now: Instant, settings: Settings): Move | undefined {
  return expire(state, now, settings) ?? askedCancel(state, asked, now, settings);
}

/** The next instant at which `supervise` could have something to do; undefined when there is none. */
export function nextDeadline({ phase, deadlines, cancel: cancelling }: WorkflowState): Instant | undefined {
  const all = [
    deadlines.scheduled,
    deadlines.workflow,
    deadlines.action,
    deadlines.held,
    deadlines.agent,
    phase === "Cancelling" ? cancelling?.deadline : undefined,
  ].filter((at) => at !== undefined);
  return all.length === 0 ? undefined : Math.min(...all);
}

/**
 * A person cancels by deleting, by a command, or by writing the state. What nobody is at work on is canceled at once; after its
 * last action a workflow is not cancelled any more.
 */
function askedCancel(state: WorkflowState, { isDeleted, cancelBy }: Asked, now: Instant, settings: Settings) {
  const by = isDeleted ? "Delete" : cancelBy;
  const { phase, dispatch } = state;
  // Whoever may write the state may ask that way, too; then nothing is known but the word.
  if (phase === "Cancelling" && state.cancel === undefined)
    return isWithAgent(state) ? beginCancel(state, by ?? "User", now, settings) : canceledBy(state, by ?? "User");
  if (by === undefined || phase === "Cancelling" || phase === "Post" || isTerminal(phase)) return undefined;
  if (phase === "" || phase === "Pending" || phase === "Preparing") return canceledBy(state, by);
  // Between two agents nobody has to be told.
  return dispatch.held ? beginCancel(state, by, now, settings) : canceledBy(state, by);
}

/** An agent may be at work on it. */
const isWithAgent = (state: WorkflowState): boolean => state.dispatch.held || runningAction(state) !== undefined;

const canceledBy = (state: WorkflowState, by: string): Move => cancel(state, failures.canceled(by));

/** The earliest of all times that have passed, and what it means in this phase. */
function expire(state: WorkflowState, now: Instant, settings: Settings): Move | undefined {
  const { phase, deadlines } = state;
  if (phase === "Cancelling") return expireCancel(state, now, settings);
  if (isTerminal(phase)) return (deadlines.held ?? Number.POSITIVE_INFINITY) <= now ? letGo(state) : undefined;
  const due = (["action", "workflow", "scheduled", "agent"] as const)
    .flatMap((name) =>
      (deadlines[name] ?? Number.POSITIVE_INFINITY) <= now ? [{ name, at: deadlines[name] ?? now }] : [],
    )
    .sort((a, b) => a.at - b.at)[0];
  if (due === undefined) return undefined;
  if (due.name === "scheduled") return expireSchedule(state, now, settings);
  if (due.name === "agent") return expireAgent(state, now, settings);
  return expireRun(state, due.name, now, settings);
}

/** Nobody knows what the agent does: it stays held, so that it gets nothing else for a while. */
function expireSchedule(state: WorkflowState, now: Instant, settings: Settings): Move {
  const reason = "ScheduledTimeout";
  const message = failures.scheduled(agentOf(state), settings.scheduledTimeout);
  return andThen(failRunning(state, reason, message, now), (ended) =>
    fail(ended, { reason, message, isFree: false }, now, settings),
  );
}

/** It may be at work all the same, and stays held as one that was stopped. */
function expireAgent(state: WorkflowState, now: Instant, settings: Settings): Move {
  const reason = "AgentLost";
  const message = failures.agentLost(agentOf(state), settings.agentLostTimeout);
  return andThen(failRunning(state, reason, message, now), (ended) =>
    fail(ended, { reason, message, isFree: false }, now, settings),
  );
}

/** The action that runs ends with the workflow, for the same reason. */
function expireRun(state: WorkflowState, which: "action" | "workflow", now: Instant, settings: Settings): Move {
  const { name = "", timeout = 0 } = runningAction(state) ?? {};
  const reason = which === "action" ? "ActionTimeout" : "WorkflowTimeout";
  const message =
    which === "action" ? failures.actionTimeout(name, timeout) : failures.workflowTimeout(state.timeout, name);
  return andThen(failRunning(state, reason, message, now), (ended) =>
    fail(ended, { reason, message, isFree: !state.dispatch.held }, now, settings),
  );
}

/** Nobody has confirmed the stop: people are told that the action may still be running. */
function expireCancel(state: WorkflowState, now: Instant, settings: Settings): Move | undefined {
  const { cancel: cancelling } = state;
  if (cancelling === undefined || cancelling.deadline > now) return undefined;
  const reason = "CancelTimeout";
  const message = failures.cancelTimeout(agentOf(state), settings.cancellingTimeout);
  return andThen(failRunning(state, reason, message, now), (ended) => cancel(ended, message, reason));
}

/** Who was told; before that, who would be. */
const agentOf = ({ dispatch, agentID }: WorkflowState): string => dispatch.agentID ?? agentID;
