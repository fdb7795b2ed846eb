import { formatInstant, type Instant } from "#lib/base/index.ts";
import { instantOf, present, timeOf, withoutGone } from "../members.ts";
import type { WorkflowStatusV2 } from "../kinds.ts";
import { type Action, type ActionPhase, type Phase, type Task, type WorkflowState } from "../state.ts";
import { decodeAdditions, encodeAdditions } from "./additions.ts";
import { putCondition, succeededCondition } from "./conditions.ts";

type ActionStatus = NonNullable<WorkflowStatusV2["actions"]>[number];

/** Any other text counts as none. */
const phases: readonly Phase[] = [
  "Preparing",
  "Pending",
  "Scheduled",
  "Running",
  "Post",
  "Cancelling",
  "Canceled",
  "Succeeded",
  "Failed",
];

/** The state of a v1alpha2 status. `timeoutSeconds` comes from the spec. */
export function decodeV2(status: WorkflowStatusV2 = {}, timeoutSeconds = 0): WorkflowState {
  const { state = "", agentID = "", otherAgentIDs, actions = [], startedAt } = status;
  const task: Task = { id: "", name: "", agentID };
  return {
    shape: "B",
    phase: phases.find((phase) => phase === state) ?? "",
    agentID,
    actions: actions.map((action) => decodeAction(action, task)),
    timeout: timeoutSeconds * 1000,
    ...present({ startedAt: instantOf(startedAt), otherAgentIDs }),
    ...decodeAdditions(status),
  };
}

/** The end is the last transition. */
function decodeAction(
  { id = "", rendered = {}, state = "Pending", attempts = 0, ...told }: ActionStatus,
  task: Task,
): Action {
  const { name = "", image = "", args = [], env = {}, volumes = [], namespaces, cmd } = rendered;
  const isOver = state === "Succeeded" || state === "Failed";
  return {
    id,
    name,
    image,
    args,
    env,
    volumes,
    timeout: 0,
    task,
    phase: state satisfies ActionPhase,
    attempts,
    ...present({
      cmd,
      pid: namespaces?.pid === undefined ? undefined : String(namespaces.pid),
      network: namespaces?.network,
      startedAt: instantOf(told.startedAt),
      finishedAt: isOver ? instantOf(told.lastTransitioned) : undefined,
      reason: told.failureReason,
      message: told.failureMessage,
    }),
  };
}

/** The status for this state, keeping all other fields of the earlier one. */
export function encodeV2(state: WorkflowState, previous: WorkflowStatusV2 = {}, now: Instant): WorkflowStatusV2 {
  const { phase, agentID, otherAgentIDs = [], actions } = state;
  const current =
    actions.find((action) => action.phase === "Running") ?? actions.findLast(({ phase: is }) => is !== "Pending");
  return withoutGone({
    ...previous,
    ...encodeAdditions(state),
    state: phase,
    agentID: agentID === "" ? previous.agentID : agentID,
    otherAgentIDs: otherAgentIDs.length === 0 ? undefined : otherAgentIDs,
    startedAt: timeOf(state.startedAt),
    lastTransitioned: phase === previous.state ? previous.lastTransitioned : formatInstant(now),
    currentAction: current?.name,
    actions: actions.length === 0 ? previous.actions : actions.map((action) => encodeAction(action, previous, now)),
    conditions: conditionsOf(state, previous, now),
  });
}

function encodeAction(action: Action, previous: WorkflowStatusV2, now: Instant): ActionStatus {
  const { id, name, image, cmd, args, env, volumes, pid, network, phase, attempts } = action;
  const before = previous.actions?.find((known) => known.id === id);
  return withoutGone({
    ...before,
    id,
    rendered: withoutGone({
      ...before?.rendered,
      name,
      image,
      cmd,
      args: args.length === 0 ? undefined : args,
      env: Object.keys(env).length === 0 ? undefined : env,
      volumes: volumes.length === 0 ? undefined : volumes,
      namespaces: pid === undefined && network === undefined ? undefined : present({ pid, network }),
    }),
    state: phase,
    startedAt: timeOf(action.startedAt),
    lastTransitioned:
      timeOf(action.finishedAt) ?? (before?.state === phase ? before.lastTransitioned : formatInstant(now)),
    failureReason: action.reason,
    failureMessage: action.message,
    attempts: attempts === 0 ? undefined : attempts,
  });
}

/** `Started` is false until the first action starts; `Succeeded` is unknown until the end. */
function conditionsOf(state: WorkflowState, previous: WorkflowStatusV2, now: Instant): WorkflowStatusV2["conditions"] {
  if (state.phase === "") return previous.conditions;
  const put = putCondition("lastTransitionTime", now);
  const started = put(previous.conditions ?? [], {
    type: "Started",
    status: state.startedAt === undefined ? "False" : "True",
  });
  return put(started, succeededCondition(state));
}
