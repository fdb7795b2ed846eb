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

// Agents deliver each event at least once and perhaps late: after a broken connection, a restart here, or the
// workflow's end. Every verdict is a function of the stored state, so each attempt has one start and each action one
// result.

export type AgentEvent =
  | { readonly is: "started"; readonly action: string }
  | { readonly is: "succeeded"; readonly action: string }
  | { readonly is: "failed"; readonly action: string; readonly reason: string; readonly message: string }
  | { readonly is: "rejected"; readonly reason?: string; readonly message: string };

/** The answer to an event, what to store before it, and whether to stop the agent. */
export interface Verdict {
  readonly code: "OK" | "NOT_FOUND" | "FAILED_PRECONDITION";
  readonly message?: string;
  /** Absent if nothing changes. */
  readonly state?: WorkflowState;
  readonly notices: readonly Notice[];
  /** The agent runs what it should not. */
  readonly stop?: true;
}

export interface EventContext {
  readonly now: Instant;
  readonly settings: Settings;
  readonly protocol: Protocol;
  readonly hasPostSteps: boolean;
  /** Seed for jitter: the workflow's uid. */
  readonly seed: string;
}

/** Judges an event, which may be repeated, late or out of order: the first record stands. */
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

const resultOf = (event: Exclude<AgentEvent, { readonly is: "started" | "rejected" }>): ActionResult =>
  event.is === "succeeded" ? { is: "succeeded" } : { is: "failed", reason: event.reason, message: event.message };

const unchanged = (...notices: readonly Notice[]): Verdict => ({ code: "OK", notices });
const recorded = ({ state, notices }: Move): Verdict => ({ code: "OK", state, notices });
const refused = (message: string, ...notices: readonly Notice[]): Verdict => ({
  code: "FAILED_PRECONDITION",
  message,
  notices,
});

const isOver = ({ phase }: Action): boolean => phase === "Succeeded" || phase === "Failed";

/** Only a start may be refused for good, because the agent waits for its answer before it runs anything. */
function judgeStart(state: WorkflowState, action: Action, at: number, context: EventContext): Verdict {
  const { phase, dispatch } = state;
  if (phase === "Cancelling" || phase === "Post" || isTerminal(phase))
    return { ...refused(`the workflow is ${phase}`), stop: true };
  // Only an agent that was sent the workflow may start it.
  if (dispatch.agentID === undefined || phase === "" || phase === "Preparing")
    return refused("the workflow was not dispatched");
  const current = currentIndex(state);
  if (at > current) return outOfOrder(action);
  if (isOver(action)) return unchanged();
  if (isByOther(state, context)) return refused("the workflow was given to a newer connection of the agent");
  if (action.phase === "Running" && dispatch.rerun !== action.id) return unchanged();
  return recorded(startAction(state, action, context.now));
}

/** Actions run in order; an early one is a mistake of the agent. */
const outOfOrder = ({ name }: Action): Verdict => {
  const message = `action "${name}" is not the next one`;
  return refused(message, warning("OutOfOrderEvent", message));
};

/** A late result is accepted, because the agent must be free to go on. Only an impossible one is refused. */
function judgeResult(
  state: WorkflowState,
  action: Action,
  at: number,
  result: ActionResult,
  context: EventContext,
): Verdict {
  const { phase } = state;
  const wanted = result.is === "succeeded" ? "Succeeded" : "Failed";
  // A repeated result says nothing new, not even that the agent is free of later work.
  if (wanted === "Succeeded" && action.phase === "Succeeded") return unchanged();
  // An agent cannot report both results, unless a timeout ended the action and the agent is held for it.
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

/** The agent confirms the stop it was sent; anything else is reported to people. */
const isStopConfirmed = ({ dispatch }: WorkflowState, result: ActionResult): boolean =>
  dispatch.held && result.is === "failed" && result.reason === "Canceled";

/** The agent has released a finished workflow. */
const late = (state: WorkflowState, { name }: Action, what: string): Verdict =>
  released(state, notice("LateEvent", `action "${name}": ${what} after the workflow was ${state.phase}`));

function released(state: WorkflowState, ...notices: readonly Notice[]): Verdict {
  if (!state.dispatch.held) return unchanged(...notices);
  return recorded({ ...letGo(state), notices });
}

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

/** The result is recorded as it was. An agent with a stream still confirms the stop. */
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

/** Only an agent that was just sent the workflow and has not started can reject it. */
function judgeRejection(
  state: WorkflowState,
  { reason, message }: Extract<AgentEvent, { readonly is: "rejected" }>,
  { now, settings, seed }: EventContext,
): Verdict {
  const rejection = { message, ...(reason === undefined ? {} : { reason }) };
  // Later parts of a workflow can be rejected, too.
  const isAwaited =
    state.phase === "Scheduled" || (state.phase === "Running" && state.deadlines.scheduled !== undefined);
  if (isAwaited && state.dispatch.held) return recorded(reject(state, rejection, now, settings, seed));
  return unchanged(notice("LateEvent", `the workflow was refused when it was ${state.phase}: ${message}`));
}
