import type { Instant } from "#lib/base/index.ts";
import { failures } from "../messages.ts";
import type { Settings } from "../settings.ts";
import { isTerminal, type WorkflowState } from "../state.ts";
import { andThen, beginCancel, cancel, fail, failRunning, letGo, type Move, runningAction } from "../transitions.ts";

// Deadlines are instants of the wall clock: after an outage overdue ones act at once.

export interface Asked {
  readonly isDeleted: boolean;
  /** A RunAction that was not carried out yet. */
  readonly cancelBy?: "User" | "CLI";
}

/** Requested cancellations and expired deadlines, earliest first. Undefined if nothing is due. */
export function supervise(state: WorkflowState, asked: Asked, now: Instant, settings: Settings): Move | undefined {
  return expire(state, now, settings) ?? askedCancel(state, asked, now, settings);
}

/** The next instant at which `supervise` may act. */
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

/** People cancel by deletion, a RunAction or the state. After the last action it is too late. */
function askedCancel(state: WorkflowState, { isDeleted, cancelBy }: Asked, now: Instant, settings: Settings) {
  const by = isDeleted ? "Delete" : cancelBy;
  const { phase, dispatch } = state;
  // Requested by writing the state.
  if (phase === "Cancelling" && state.cancel === undefined)
    return isWithAgent(state) ? beginCancel(state, by ?? "User", now, settings) : canceledBy(state, by ?? "User");
  if (by === undefined || phase === "Cancelling" || phase === "Post" || isTerminal(phase)) return undefined;
  if (phase === "" || phase === "Pending" || phase === "Preparing") return canceledBy(state, by);
  // Between two agents nobody must be told.
  return dispatch.held ? beginCancel(state, by, now, settings) : canceledBy(state, by);
}

const isWithAgent = (state: WorkflowState): boolean => state.dispatch.held || runningAction(state) !== undefined;

const canceledBy = (state: WorkflowState, by: string): Move => cancel(state, failures.canceled(by));

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

/** The agent's state is unknown, so it stays held for a while. */
function expireSchedule(state: WorkflowState, now: Instant, settings: Settings): Move {
  const reason = "ScheduledTimeout";
  const message = failures.scheduled(agentOf(state), settings.scheduledTimeout);
  return andThen(failRunning(state, reason, message, now), (ended) =>
    fail(ended, { reason, message, isFree: false }, now, settings),
  );
}

/** The agent may go on, and stays held like a stopped one. */
function expireAgent(state: WorkflowState, now: Instant, settings: Settings): Move {
  const reason = "AgentLost";
  const message = failures.agentLost(agentOf(state), settings.agentLostTimeout);
  return andThen(failRunning(state, reason, message, now), (ended) =>
    fail(ended, { reason, message, isFree: false }, now, settings),
  );
}

/** The running action ends with the workflow, for the same reason. */
function expireRun(state: WorkflowState, which: "action" | "workflow", now: Instant, settings: Settings): Move {
  const { name = "", timeout = 0 } = runningAction(state) ?? {};
  const reason = which === "action" ? "ActionTimeout" : "WorkflowTimeout";
  const message =
    which === "action" ? failures.actionTimeout(name, timeout) : failures.workflowTimeout(state.timeout, name);
  return andThen(failRunning(state, reason, message, now), (ended) =>
    fail(ended, { reason, message, isFree: !state.dispatch.held }, now, settings),
  );
}

/** The stop is not confirmed: people learn that the action may still run. */
function expireCancel(state: WorkflowState, now: Instant, settings: Settings): Move | undefined {
  const { cancel: cancelling } = state;
  if (cancelling === undefined || cancelling.deadline > now) return undefined;
  const reason = "CancelTimeout";
  const message = failures.cancelTimeout(agentOf(state), settings.cancellingTimeout);
  return andThen(failRunning(state, reason, message, now), (ended) => cancel(ended, message, reason));
}

/** The agent it was sent to, or would be. */
const agentOf = ({ dispatch, agentID }: WorkflowState): string => dispatch.agentID ?? agentID;
