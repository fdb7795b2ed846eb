import type { Instant } from "#lib/base/index.ts";
import { failures, notice, type Notice, warning } from "./messages.ts";
import { isByOther } from "./reconnect.ts";
import type { Settings } from "./settings.ts";
import { type Action, currentIndex, isTerminal, type Protocol, type WorkflowState } from "./state.ts";
import {
  type ActionResult,
  andThen,
  cancel,
  endAction,
  fail,
  failureText,
  goOn,
  letGo,
  type Move,
  reject,
  startAction,
} from "./transitions.ts";

// Agents deliver each event at least once, and may deliver it long after the fact: after their connection broke, after this side began anew,
// after the workflow was ended here. What is recorded happens once all the same: each action has one start for each attempt and one
// result, because every verdict is a function of the stored state.

/** What an agent tells of a workflow, whatever protocol it speaks. */
export type AgentEvent =
  | { readonly is: "started"; readonly action: string }
  | { readonly is: "succeeded"; readonly action: string }
  | { readonly is: "failed"; readonly action: string; readonly reason: string; readonly message: string }
  | { readonly is: "rejected"; readonly reason?: string; readonly message: string };

/** The answer to an event: what is stored before it is given, and whether the agent is told to stop. */
export interface Verdict {
  /** As gRPC has them. */
  readonly code: "OK" | "NOT_FOUND" | "FAILED_PRECONDITION";
  /** Said with a code that is not OK. */
  readonly message?: string;
  /** Absent when nothing changes. */
  readonly state?: WorkflowState;
  readonly notices: readonly Notice[];
  /** The agent is at work on what it should not be. */
  readonly stop?: true;
}

export interface EventContext {
  readonly now: Instant;
  readonly settings: Settings;
  readonly protocol: Protocol;
  /** Something is to be done after the last action. */
  readonly hasPostSteps: boolean;
  /** Tells workflows apart where chance is asked for: its uid. */
  readonly seed: string;
}

/**
 * What becomes of an event in this state. Every event may come twice, late or out of order: what was recorded first stands, and what cannot
 * be true is refused or told as a warning, never recorded.
 */
export function judgeEvent(state: WorkflowState, event: AgentEvent, context: EventContext): Verdict {
  if (event.is === "rejected") return judgeRejection(state, event, context);
  const at = state.actions.findIndex(({ id }) => id === event.action);
  const action = state.actions[at];
  if (action === undefined)
    return { code: "NOT_FOUND", message: `the workflow has no action "${event.action}"`, notices: [] };
  return event.is === "started"
    ? judgeStart(state, action, at, context)
    : judgeResult(state, action, at, resultOf(event), context);
}

/** The result of an action, told. */
const resultOf = (event: Exclude<AgentEvent, { readonly is: "started" | "rejected" }>): ActionResult =>
  event.is === "succeeded" ? { is: "succeeded" } : { is: "failed", reason: event.reason, message: event.message };

const unchanged = (...notices: readonly Notice[]): Verdict => ({ code: "OK", notices });
const recorded = ({ state, notices }: Move): Verdict => ({ code: "OK", state, notices });
const refused = (message: string, ...notices: readonly Notice[]): Verdict => ({
  code: "FAILED_PRECONDITION",
  message,
  notices,
});

/** Its result is recorded, and stays. */
const isOver = ({ phase }: Action): boolean => phase === "Succeeded" || phase === "Failed";

/**
 * A start is the only thing that may be refused for good: it is what an agent waits for before it does anything, so that a
 * refusal stops what should not run.
 */
function judgeStart(state: WorkflowState, action: Action, at: number, context: EventContext): Verdict {
  const { phase, dispatch } = state;
  if (phase === "Cancelling" || phase === "Post" || isTerminal(phase))
    return { ...refused(`the workflow is ${phase}`), stop: true };
  // Only who was told of it once may begin it.
  if (dispatch.agentID === undefined || phase === "" || phase === "Preparing")
    return refused("the workflow was not dispatched");
  const current = currentIndex(state);
  if (at > current) return outOfOrder(action);
  if (isOver(action)) return unchanged();
  if (isByOther(state, context)) return refused("the workflow was given to a newer connection of the agent");
  if (action.phase === "Running" && dispatch.rerun !== action.id) return unchanged();
  return recorded(startAction(state, action, context.now));
}

/** Actions are done one after the other: what comes too early is a mistake of the agent, or of who pretends to be one. */
const outOfOrder = ({ name }: Action): Verdict => {
  const message = `action "${name}" is not the next one`;
  return refused(message, warning("OutOfOrderEvent", message));
};

/**
 * A result is never refused because of its time: the agent has done what it has done, and has to be free to go on. Only where
 * it cannot be true it is not taken.
 */
function judgeResult(
  state: WorkflowState,
  action: Action,
  at: number,
  result: ActionResult,
  context: EventContext,
): Verdict {
  const { phase } = state;
  const wanted = result.is === "succeeded" ? "Succeeded" : "Failed";
  // Told twice, it says nothing new, not even that the agent is free of what came after it.
  if (wanted === "Succeeded" && action.phase === "Succeeded") return unchanged();
  // Who has told the one cannot tell the other afterwards; who was ended by a time, and is held for it, can.
  const isContradictory = isOver(action) && action.phase !== wanted && !state.dispatch.held;
  if (isTerminal(phase) && !isContradictory)
    return isStopConfirmed(state, result) ? released(state) : late(state, action, `told ${wanted}`);
  if (action.phase === wanted) return unchanged();
  if (isOver(action))
    return unchanged(
      warning("ContradictoryEvent", `action "${action.name}" is ${action.phase}; that it is ${wanted} is not recorded`),
    );
  if (phase === "" || phase === "Preparing" || phase === "Post" || state.dispatch.agentID === undefined)
    return refused("the workflow was not dispatched");
  if (at > currentIndex(state)) return outOfOrder(action);
  if (phase === "Cancelling") return recorded(resultWhileCancelling(state, action, result, context));
  return recorded(resultWhileRunning(state, action, result, context));
}

/** What the agent was told when the workflow was ended here, it says it has done: no news. Of anything else people are told. */
const isStopConfirmed = ({ dispatch }: WorkflowState, result: ActionResult): boolean =>
  dispatch.held && result.is === "failed" && result.reason === "Canceled";

/** The agent has let go of a workflow that has ended, which is all there is to learn. */
const late = (state: WorkflowState, { name }: Action, what: string): Verdict =>
  released(state, notice("LateEvent", `action "${name}": ${what} after the workflow was ${state.phase}`));

function released(state: WorkflowState, ...notices: readonly Notice[]): Verdict {
  if (!state.dispatch.held) return unchanged(...notices);
  return recorded({ ...letGo(state), notices });
}

/** A start that was never told is inferred: the agent cannot have ended what it had not begun. */
function resultWhileRunning(state: WorkflowState, action: Action, result: ActionResult, context: EventContext): Move {
  const { now, settings, hasPostSteps } = context;
  const begun: Move = action.phase === "Pending" ? startAction(state, action, now) : { state, notices: [] };
  const ended = andThen(begun, (running) =>
    endAction(running, running.actions[currentIndex(running)] ?? action, result, now),
  );
  if (result.is === "succeeded") return andThen(ended, (next) => goOn(next, now, hasPostSteps));
  const { reason } = result;
  const message = failureText(action, result);
  return andThen(ended, (next) => fail(next, { reason, message, isFree: true }, now, settings));
}

/**
 * What is recorded is what has happened. The agent that speaks the command stream goes on until it has confirmed the stop; one that asks for
 * each action has confirmed it by telling the end of this one.
 */
function resultWhileCancelling(
  state: WorkflowState,
  action: Action,
  result: ActionResult,
  context: EventContext,
): Move {
  const { now, protocol } = context;
  const ended = endAction(state, action, result, now);
  if (currentIndex(ended.state) >= state.actions.length && result.is === "succeeded")
    return andThen(ended, (next) => cancel(next, failures.finishedBefore));
  if (result.is === "failed" || protocol !== "stream")
    return andThen(ended, (next) => cancel(next, failures.canceled(state.cancel?.by ?? "User")));
  return ended;
}

/** Only who was told a moment ago, and has not begun, can refuse. */
function judgeRejection(
  state: WorkflowState,
  { reason, message }: Extract<AgentEvent, { readonly is: "rejected" }>,
  { now, settings, seed }: EventContext,
): Verdict {
  const rejection = { message, ...(reason === undefined ? {} : { reason }) };
  // A later part of a workflow can be refused like the first.
  const isAwaited =
    state.phase === "Scheduled" || (state.phase === "Running" && state.deadlines.scheduled !== undefined);
  if (isAwaited && state.dispatch.held) return recorded(reject(state, rejection, now, settings, seed));
  return unchanged(notice("LateEvent", `the workflow was refused when it was ${state.phase}: ${message}`));
}
