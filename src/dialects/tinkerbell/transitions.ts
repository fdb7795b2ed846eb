import type { Instant } from "#lib/base/index.ts";
import { present } from "./members.ts";
import { jittered, rejectDelay } from "#engine/index.ts";
import { failures, type Notice, notice, warning } from "./messages.ts";
import type { Settings } from "./settings.ts";
import {
  type Action,
  type Cancelling,
  currentIndex,
  type Dispatch,
  isSameAgent,
  type Protocol,
  withAction,
  type WorkflowState,
} from "./state.ts";

// The moves of the state machine, one function each. Whether a move is allowed is decided by who makes it: agents' events in
// `events.ts`, times in `supervise.ts`, agents that come back in `reconnect.ts`. All are pure.

/**
 * A move: the state after it, and what people are told. The state is stored, by a write that fails when somebody else has
 * changed the workflow meanwhile; only then people are told, and agents.
 */
export interface Move {
  readonly state: WorkflowState;
  readonly notices: readonly Notice[];
}

/** Without notices people are told nothing. */
const moved = (state: WorkflowState, ...notices: readonly Notice[]): Move => ({ state, notices });

/** Who takes a workflow: one process of an agent, by the protocol it speaks. */
export interface Taker {
  readonly agentID: string;
  readonly instance?: string;
  readonly protocol: Protocol;
}

/**
 * An agent is about to be told of it, or of the next part of it: held from here on, until the agent is known to be free. The
 * deadline of the whole goes on; that of the start is new each time, because each agent gets the same time to begin.
 */
export function dispatch(state: WorkflowState, taker: Taker, now: Instant, settings: Settings): Move {
  const { notBefore: _over, instance: _other, ...kept } = state.dispatch;
  return moved(
    {
      ...takenBy(state, taker.agentID),
      phase: state.phase === "Pending" ? "Scheduled" : state.phase,
      dispatch: { ...kept, ...taker, held: true, attempt: kept.attempt + 1, at: now },
      deadlines: { ...present({ workflow: state.deadlines.workflow }), scheduled: now + settings.scheduledTimeout },
    },
    notice("Scheduled", `dispatched to agent ${taker.agentID}`),
  );
}

/** Of all who might have taken it, one has: it is nobody else's from here on, also when it is refused. */
function takenBy(state: WorkflowState, taker: string): WorkflowState {
  if (state.otherAgentIDs === undefined) return state;
  const { otherAgentIDs, ...kept } = state;
  const agentID = otherAgentIDs.find((other) => isSameAgent(other, taker)) ?? kept.agentID;
  const actions = kept.actions.map((action) => ({ ...action, task: { ...action.task, agentID } }));
  return { ...kept, agentID, actions };
}

/**
 * The agent has said no, mostly because it is at work on something else that this side does not know of: somebody is to be told again, later and later. `seed` makes the delays of different
 * workflows differ, so that they do not all come back at once.
 */
export function reject(
  state: WorkflowState,
  rejection: { readonly reason?: string; readonly message: string },
  now: Instant,
  { rejectBackoff: { base, max, jitter } }: Settings,
  seed: string,
): Move {
  const rejections = state.dispatch.rejections + 1;
  const delay = jittered(rejectDelay(rejections, { base, cap: max }), jitter, `${seed}/${rejections}`);
  const { scheduled: _over, agent: _heard, ...deadlines } = state.deadlines;
  return moved(
    {
      ...state,
      phase: state.phase === "Scheduled" ? "Pending" : state.phase,
      dispatch: {
        ...state.dispatch,
        held: false,
        rejections,
        notBefore: now + delay,
        lastRejection: { ...rejection, at: now },
      },
      deadlines,
    },
    warning("Rejected", `agent ${state.dispatch.agentID ?? state.agentID} refused the workflow: ${rejection.message}`),
  );
}

/**
 * An action begins: also the first one, which begins the workflow, and one that is begun again after an interruption, whose
 * time begins anew while that of the whole does not. A start ends a row of rejections.
 */
export function startAction(state: WorkflowState, action: Action, now: Instant): Move {
  const isFirst = state.startedAt === undefined;
  const startedAt = state.startedAt ?? now;
  const isRerun = action.phase === "Running";
  const started: Action = {
    ...withoutEnd(action),
    phase: "Running",
    attempts: action.attempts + 1,
    startedAt: isRerun ? (action.startedAt ?? now) : now,
  };
  const { rerun: _done, notBefore: _over, ...held } = state.dispatch;
  return moved(
    {
      ...state,
      phase: "Running",
      startedAt,
      actions: withAction(state.actions, started),
      dispatch: { ...held, held: true, rejections: 0 },
      deadlines: present({
        workflow: state.deadlines.workflow ?? (state.timeout > 0 ? startedAt + state.timeout : undefined),
        action: action.timeout > 0 ? now + action.timeout : undefined,
      }),
    },
    ...(isFirst ? [notice("Started", `started by agent ${state.dispatch.agentID ?? state.agentID}`)] : []),
    isRerun
      ? warning(
          "ActionRestarted",
          `action "${action.name}" was interrupted and runs again, attempt ${started.attempts}`,
        )
      : notice("ActionStarted", `action "${action.name}" has started`),
  );
}

/** What an action that begins again does not have any more. */
const withoutEnd = ({ finishedAt: _at, reason: _reason, message: _message, ...action }: Action): Action => action;

/**
 * What an action came to, recorded in it and nowhere else. One that never told its start has one attempt: it cannot have ended
 * without it.
 */
export function endAction(state: WorkflowState, action: Action, result: ActionResult, now: Instant): Move {
  const startedAt = action.startedAt ?? now;
  const ended: Action =
    result.is === "succeeded"
      ? {
          ...withoutEnd(action),
          phase: "Succeeded",
          attempts: Math.max(1, action.attempts),
          startedAt,
          finishedAt: now,
        }
      : {
          ...action,
          phase: "Failed",
          attempts: Math.max(1, action.attempts),
          startedAt,
          finishedAt: now,
          reason: result.reason,
          message: result.message,
        };
  const { action: _over, agent: _heard, ...deadlines } = state.deadlines;
  return moved(
    { ...state, actions: withAction(state.actions, ended), deadlines },
    result.is === "succeeded"
      ? notice("ActionSucceeded", `action "${action.name}" has succeeded`)
      : warning("ActionFailed", failureText(action, result)),
  );
}

/** What people are told of an action that has failed. That its time was over says all there is to say, whoever has noticed it. */
export const failureText = ({ name, timeout }: Action, { reason, message }: ActionFailure): string =>
  reason === "ActionTimeout" && timeout > 0 ? failures.actionTimeout(name, timeout) : failures.action(name, message);

/** Why it failed, in the agent's words. */
interface ActionFailure {
  readonly reason: string;
  readonly message: string;
}

/** How an action ended. */
export type ActionResult = { readonly is: "succeeded" } | ({ readonly is: "failed" } & ActionFailure);

/** After the last action of an agent: the next agent's turn, or the end. `hasPostSteps` puts something between the two. */
export function goOn(state: WorkflowState, now: Instant, hasPostSteps: boolean): Move {
  const next = state.actions[currentIndex(state)];
  if (next === undefined) return hasPostSteps ? toPost(state) : succeed(state, now);
  if (next.task.agentID === state.agentID) return moved(state);
  // Who comes next has not been told yet, so that its first dispatch is not one of the agent before.
  const { agentID: _a, instance: _i, protocol: _p, ...kept } = state.dispatch;
  return moved({ ...state, agentID: next.task.agentID, dispatch: { ...kept, held: false } });
}

/** What is done after the actions is the controller's; the agent is free. */
function toPost(state: WorkflowState): Move {
  return moved({ ...state, phase: "Post", dispatch: free(state.dispatch), deadlines: {} });
}

/** All actions, and whatever was to be done after them, went well. */
export function succeed(state: WorkflowState, now: Instant): Move {
  // The clock may have been set back in between.
  const seconds = Math.max(0, Math.round((now - (state.startedAt ?? now)) / 1000));
  const begun = state.startedAt === undefined ? "" : ` after ${seconds} s`;
  return moved(
    { ...state, phase: "Succeeded", dispatch: free(state.dispatch), deadlines: {} },
    notice("Succeeded", `all actions have succeeded${begun}`),
  );
}

/** The agent is known not to be at work on it. */
const free = ({ rerun: _rerun, ...dispatched }: Dispatch): Dispatch => ({ ...dispatched, held: false });

/**
 * The workflow has failed. `isFree`: the agent is known not to be at work on it any more; otherwise it stays held, for `cancellingTimeout`
 * at most, so that nothing else is given to an agent that is still busy.
 */
export function fail(
  state: WorkflowState,
  { reason, message, isFree }: { readonly reason: string; readonly message: string; readonly isFree: boolean },
  now: Instant,
  { cancellingTimeout }: Settings,
): Move {
  return moved(
    {
      ...state,
      phase: "Failed",
      reason,
      message,
      dispatch: isFree ? free(state.dispatch) : { ...state.dispatch },
      deadlines: isFree || !state.dispatch.held ? {} : { held: now + cancellingTimeout },
    },
    warning("Failed", message),
  );
}

/**
 * Told, or about to be told, to stop. From here on only the time to confirm counts: an action that takes too long is being
 * stopped already.
 */
export function beginCancel(state: WorkflowState, by: Cancelling["by"], now: Instant, settings: Settings): Move {
  const { workflow: _w, scheduled: _s, action: _a, agent: _g, ...deadlines } = state.deadlines;
  return moved(
    {
      ...state,
      phase: "Cancelling",
      cancel: { requestedAt: now, by, deadline: now + settings.cancellingTimeout },
      deadlines,
    },
    notice("Cancelling", `agent ${state.dispatch.agentID ?? state.agentID} is told to stop`),
  );
}

/** Stopped, as far as anybody knows. Another reason than the usual one is a warning to people. */
export function cancel(state: WorkflowState, message: string, reason = "Canceled"): Move {
  return moved(
    { ...state, phase: "Canceled", reason, message, dispatch: free(state.dispatch), deadlines: {} },
    reason === "Canceled" ? notice("Canceled", message) : warning(reason, message),
  );
}

/** The agent of a workflow that has ended is free again, or taken for free. */
export function letGo(state: WorkflowState): Move {
  const { held: _over, ...deadlines } = state.deadlines;
  return moved({ ...state, dispatch: free(state.dispatch), deadlines });
}

/** The action that runs, if one does, ends with the workflow. */
export function failRunning(state: WorkflowState, reason: string, message: string, now: Instant): Move {
  const action = runningAction(state);
  return action === undefined ? moved(state) : endAction(state, action, { is: "failed", reason, message }, now);
}

/** The action that runs. */
export const runningAction = (state: WorkflowState): Action | undefined =>
  state.actions.find(({ phase }) => phase === "Running");

/** The agent is to begin again with the action that was interrupted: what it is told, see `segmentOf`. */
export function rerun(state: WorkflowState, action: Action, taker: Taker, now: Instant, settings: Settings): Move {
  const { action: _over, agent: _back, ...deadlines } = state.deadlines;
  return moved({
    ...state,
    dispatch: {
      ...state.dispatch,
      ...taker,
      held: true,
      attempt: state.dispatch.attempt + 1,
      at: now,
      rerun: action.id,
    },
    // It has to be begun in time, as after any dispatch.
    deadlines: { ...deadlines, scheduled: now + settings.scheduledTimeout },
  });
}

/** One move after another. */
export function andThen(first: Move, next: (state: WorkflowState) => Move): Move {
  const { state, notices } = next(first.state);
  return { state, notices: [...first.notices, ...notices] };
}
