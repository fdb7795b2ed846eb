import type { Instant } from "#lib/base/index.ts";
import { present } from "./members.ts";
import { exponential, jittered } from "#engine/index.ts";
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

// Moves of the state machine, all pure. Callers decide which are allowed: `events.ts`, `supervise.ts`, `reconnect.ts`.

/** The state after a move, and notices. People and agents are told after the state is stored without a conflict. */
export interface Move {
  readonly state: WorkflowState;
  readonly notices: readonly Notice[];
}

const moved = (state: WorkflowState, ...notices: readonly Notice[]): Move => ({ state, notices });

export interface Taker {
  readonly agentID: string;
  readonly instance?: string;
  readonly protocol: Protocol;
}

/** Sends the workflow, or its next part, to an agent, which holds it until it is known to be free. */
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

/** The taker is its only agent from here on, even if it refuses. */
function takenBy(state: WorkflowState, taker: string): WorkflowState {
  if (state.otherAgentIDs === undefined) return state;
  const { otherAgentIDs, ...kept } = state;
  const agentID = otherAgentIDs.find((other) => isSameAgent(other, taker)) ?? kept.agentID;
  const actions = kept.actions.map((action) => ({ ...action, task: { ...action.task, agentID } }));
  return { ...kept, agentID, actions };
}

/** The agent refused: tried again with growing delays. `seed` spreads those of different workflows. */
export function reject(
  state: WorkflowState,
  rejection: { readonly reason?: string; readonly message: string },
  now: Instant,
  { rejectBackoff: { base, max, jitter } }: Settings,
  seed: string,
): Move {
  const rejections = state.dispatch.rejections + 1;
  const delay = jittered(exponential(rejections, { base, factor: 2, cap: max }), jitter, `${seed}/${rejections}`);
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

/** Starts an action: the first one starts the workflow; a repeated one gets new time. Ends a row of rejections. */
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

/** Removed when an action starts again. */
const withoutEnd = ({ finishedAt: _at, reason: _reason, message: _message, ...action }: Action): Action => action;

/** Records an action's result. Without a reported start it has one attempt. */
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

/** For a timeout the text says nothing else, whoever noticed it. */
export const failureText = ({ name, timeout }: Action, { reason, message }: ActionFailure): string =>
  reason === "ActionTimeout" && timeout > 0 ? failures.actionTimeout(name, timeout) : failures.action(name, message);

interface ActionFailure {
  readonly reason: string;
  readonly message: string;
}

export type ActionResult = { readonly is: "succeeded" } | ({ readonly is: "failed" } & ActionFailure);

/** After the last action of an agent: the next agent's turn, the post steps, or the end. */
export function goOn(state: WorkflowState, now: Instant, hasPostSteps: boolean): Move {
  const next = state.actions[currentIndex(state)];
  if (next === undefined) return hasPostSteps ? toPost(state) : succeed(state, now);
  if (next.task.agentID === state.agentID) return moved(state);
  // Fields of the earlier agent.
  const { agentID: _a, instance: _i, protocol: _p, ...kept } = state.dispatch;
  return moved({ ...state, agentID: next.task.agentID, dispatch: { ...kept, held: false } });
}

/** Post steps are the controller's; the agent is free. */
function toPost(state: WorkflowState): Move {
  return moved({ ...state, phase: "Post", dispatch: free(state.dispatch), deadlines: {} });
}

export function succeed(state: WorkflowState, now: Instant): Move {
  // The clock may have been set back.
  const seconds = Math.max(0, Math.round((now - (state.startedAt ?? now)) / 1000));
  const begun = state.startedAt === undefined ? "" : ` after ${seconds} s`;
  return moved(
    { ...state, phase: "Succeeded", dispatch: free(state.dispatch), deadlines: {} },
    notice("Succeeded", `all actions have succeeded${begun}`),
  );
}

/** The agent is known to be free. */
const free = ({ rerun: _rerun, ...dispatched }: Dispatch): Dispatch => ({ ...dispatched, held: false });

/** Fails the workflow. Unless `isFree`, the agent stays held for up to `cancellingTimeout`. */
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

/** Asks the agent to stop. Only the time to confirm counts from here on. */
export function beginCancel(state: WorkflowState, by: Cancelling["by"], now: Instant, settings: Settings): Move {
  const { workflow: _w, scheduled: _s, action: _a, agent: _g, ...deadlines } = state.deadlines;
  return moved(
    {
      ...state,
      phase: "Cancelling",
      cancel: { requestedAt: now, by, deadline: now + settings.cancellingTimeout },
      deadlines,
    },
    notice("Cancelling", `agent ${state.dispatch.agentID ?? state.agentID} is asked to stop`),
  );
}

/** Canceled, as far as is known. Another reason than the default is a warning. */
export function cancel(state: WorkflowState, message: string, reason = "Canceled"): Move {
  return moved(
    { ...state, phase: "Canceled", reason, message, dispatch: free(state.dispatch), deadlines: {} },
    reason === "Canceled" ? notice("Canceled", message) : warning(reason, message),
  );
}

export function letGo(state: WorkflowState): Move {
  const { held: _over, ...deadlines } = state.deadlines;
  return moved({ ...state, dispatch: free(state.dispatch), deadlines });
}

export function failRunning(state: WorkflowState, reason: string, message: string, now: Instant): Move {
  const action = runningAction(state);
  return action === undefined ? moved(state) : endAction(state, action, { is: "failed", reason, message }, now);
}

export const runningAction = (state: WorkflowState): Action | undefined =>
  state.actions.find(({ phase }) => phase === "Running");

/** The agent repeats the interrupted action; see `segmentOf`. */
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
    deadlines: { ...deadlines, scheduled: now + settings.scheduledTimeout },
  });
}

export function andThen(first: Move, next: (state: WorkflowState) => Move): Move {
  const { state, notices } = next(first.state);
  return { state, notices: [...first.notices, ...notices] };
}
