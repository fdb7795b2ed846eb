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

// A broken connection changes no workflow. Foreign agents say nothing on return and count as restarted.

/** What a returning agent says of its workflow; `none` if nothing, as foreign ones. */
export type Resumed = "running" | "interrupted" | "none";

/** `move` is stored before `send` happens. */
export interface Resumption {
  readonly move?: Move;
  readonly send?: "start" | "stop";
  /** Only notices: another connection of the agent has the workflow. */
  readonly notices?: readonly Notice[];
}

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
  // An agent that does not resume it is free of it.
  if (phase === "Cancelling") return { move: confirmCancel(state, now) };
  if (isTerminal(phase)) return { move: letGo(state) };
  if (phase === "Scheduled") return { move: dispatch(state, taker, now, settings), send: "start" };
  if (phase !== "Running") return {};
  return interrupted(state, taker, now, settings);
}

/** Nothing runs it: a running action was stopped with it. */
export function confirmCancel(state: WorkflowState, now: Instant): Move {
  const message = failures.canceled(state.cancel?.by ?? "User");
  const stopped = failRunning(state, "Canceled", "the agent has stopped it", now);
  return andThen(stopped, (ended) => cancel(ended, message));
}

/** The workflow was sent by another protocol than the agent speaks: programs share its id, or one is new. */
export const isByOther = ({ dispatch: { protocol } }: WorkflowState, taker: Pick<Taker, "protocol">): boolean =>
  protocol !== undefined && protocol !== taker.protocol;

/** The agent restarted in the middle. An action of another protocol's program, which may live, is not repeated. */
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

/** The agent's connection ended: with a limit set it must return in time. Undefined if nothing changes. */
export function lose(state: WorkflowState, now: Instant, { agentLostTimeout }: Settings): WorkflowState | undefined {
  const { phase, dispatch: told, deadlines } = state;
  const isAtWork = told.held && told.protocol === "stream" && (phase === "Scheduled" || phase === "Running");
  if (agentLostTimeout <= 0 || !isAtWork || deadlines.agent !== undefined) return undefined;
  return { ...state, deadlines: { ...deadlines, agent: now + agentLostTimeout } };
}

/** Undefined if nothing waited for it. */
export function regain(state: WorkflowState): WorkflowState | undefined {
  const { agent, ...deadlines } = state.deadlines;
  return agent === undefined ? undefined : { ...state, deadlines };
}
