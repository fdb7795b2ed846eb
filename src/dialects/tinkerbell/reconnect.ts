import type { Instant } from "#lib/base/index.ts";
import { failures, type Notice, warning } from "./messages.ts";
import type { Settings } from "./settings.ts";
import { currentIndex, isTerminal, type WorkflowState } from "./state.ts";
import {
  andThen,
  cancel,
  dispatch,
  fail,
  failRunning,
  letGo,
  type Move,
  rerun,
  runningAction,
  type Taker,
} from "./transitions.ts";

// A connection that breaks changes no workflow: the agent goes on with what it does, and tells it later. Only what it says when it comes back
// shows whether it did. Agents of other makers say nothing, and are taken to have begun anew: they hold nothing across a restart.

/** What an agent that comes back says of the workflow it holds; `none` for one that says nothing, as foreign ones do. */
export type Resumed = "running" | "interrupted" | "none";

/** What is done for a workflow whose agent has come back: `move` is stored before `send` happens. */
export interface Resumption {
  readonly move?: Move;
  readonly send?: "start" | "stop";
  /** Nothing else is done: another connection of the agent is at work on it. */
  readonly notices?: readonly Notice[];
}

/** An agent has connected that is held for this workflow. */
export function resume(
  state: WorkflowState,
  said: Resumed,
  taker: Taker,
  now: Instant,
  settings: Settings,
): Resumption {
  const { phase } = state;
  if (said === "running") {
    if (phase === "Cancelling" || isTerminal(phase)) return { send: "stop" };
    return {};
  }
  // Whoever does not resume it is free of it.
  if (phase === "Cancelling") return { move: confirmCancel(state, now) };
  if (isTerminal(phase)) return { move: letGo(state) };
  if (phase === "Scheduled") return { move: dispatch(state, taker, now, settings), send: "start" };
  if (phase !== "Running") return {};
  return interrupted(state, taker, now, settings);
}

/** Nobody is at work on it: the action that ran, if one did, was stopped with it. */
export function confirmCancel(state: WorkflowState, now: Instant): Move {
  const message = failures.canceled(state.cancel?.by ?? "User");
  const stopped = failRunning(state, "Canceled", "the agent has stopped it", now);
  return andThen(stopped, (ended) => cancel(ended, message));
}

/**
 * Whether the workflow was given to the agent by another protocol than it speaks now: two programs use its id, or the one has taken the place
 * of the other.
 */
export const isByOther = ({ dispatch: { protocol } }: WorkflowState, taker: Pick<Taker, "protocol">): boolean =>
  protocol !== undefined && protocol !== taker.protocol;

/**
 * The agent has begun anew in the middle of it. An action that had not begun is no interruption. One that was started by another protocol is not
 * started again, because the program that runs it may be alive.
 */
export function interrupted(state: WorkflowState, taker: Taker, now: Instant, settings: Settings): Resumption {
  const action = runningAction(state);
  if (action === undefined) {
    const next = state.actions[currentIndex(state)];
    return next === undefined ? {} : { move: dispatch(state, taker, now, settings), send: "start" };
  }
  if (isByOther(state, taker) && state.dispatch.rerun !== action.id)
    return { notices: [warning("DuplicateAgent", failures.startedByOther(action.name, taker))] };
  if (settings.interruptedActions === "Rerun" && action.attempts < settings.maxActionAttempts)
    return { move: rerun(state, action, taker, now, settings), send: "start" };
  const reason = "ActionInterrupted";
  const message = failures.interrupted(action.name, action.attempts);
  return {
    move: andThen(failRunning(state, reason, message, now), (ended) =>
      fail(ended, { reason, message, isFree: true }, now, settings),
    ),
  };
}

/**
 * The connection of the agent has ended: where there is a limit, it has to be back in time. Agents that ask for each action have no
 * connection whose end would mean anything. Undefined when nothing changes.
 */
export function lose(state: WorkflowState, now: Instant, { agentLostTimeout }: Settings): WorkflowState | undefined {
  const { phase, dispatch: told, deadlines } = state;
  const isAtWork = told.held && told.protocol === "stream" && (phase === "Scheduled" || phase === "Running");
  if (agentLostTimeout <= 0 || !isAtWork || deadlines.agent !== undefined) return undefined;
  return { ...state, deadlines: { ...deadlines, agent: now + agentLostTimeout } };
}

/** It is back. Undefined when nobody has waited for it. */
export function regain(state: WorkflowState): WorkflowState | undefined {
  const { agent, ...deadlines } = state.deadlines;
  return agent === undefined ? undefined : { ...state, deadlines };
}
