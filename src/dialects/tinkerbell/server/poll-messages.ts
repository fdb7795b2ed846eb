import { type Clock, type Instant, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import {
  type MessageInitShape,
  type MessageShape,
  RpcError,
  rpcStatus,
  toJson,
  workflowV1,
} from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";
import { type Action, currentIndex, type WorkflowState } from "../state.ts";

type ActionMessage = MessageInitShape<typeof workflowV1.ActionResponseSchema>;

/** An agent takes no time for no time at all, and gives up at once: ten years are as good as none. */
const forEver = 315_360_000;

/** Seconds an action may take: its own, or what is left of the whole, or no limit. At least one, which is what an agent that is late gets. */
export function timeoutOf(action: Action, { deadlines, timeout }: WorkflowState, now: Instant): bigint {
  if (action.timeout > 0) return BigInt(Math.ceil(action.timeout / 1000));
  // Before the first action the whole has no deadline yet, but its time.
  const left = deadlines.workflow === undefined ? timeout : deadlines.workflow - now;
  if (deadlines.workflow === undefined && timeout === 0) return BigInt(forEver);
  return BigInt(Math.max(1, Math.ceil(left / 1000)));
}

/** `NAME=value`, sorted, as both older protocols have it. */
export const environmentOf = ({ env }: Action): string[] =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .sort();

/** The command of an action in one list: what takes the place of the entrypoint comes first. */
export const commandOf = ({ cmd, args }: Action): string[] => [...(cmd === undefined ? [] : [cmd]), ...args];

/** The action a workflow is at, for an agent that asks for one at a time; undefined when there is none left. */
export function actionMessage(id: string, state: WorkflowState, clock: Clock): ActionMessage | undefined {
  const action = state.actions[currentIndex(state)];
  if (action === undefined) return undefined;
  const { pid, network, task } = action;
  return {
    workflowId: id,
    taskId: task.id,
    agentId: task.agentID,
    actionId: action.id,
    name: action.name,
    image: action.image,
    timeout: timeoutOf(action, state, clock.now()),
    command: commandOf(action),
    volumes: [...action.volumes],
    environment: environmentOf(action),
    ...present({ pid }),
    ...(pid === undefined && network === undefined ? {} : { namespaces: present({ pid, network }) }),
  };
}

/** Told to an agent for which there will be something, but not now: it asks again without a word in its log. */
export const noActionYet = (): RpcError =>
  new RpcError("FAILED_PRECONDITION", "no action available", {
    details: [
      {
        schema: rpcStatus.PreconditionFailureSchema,
        value: { violations: [{ type: "PRECONDITION_FAILURE_VIOLATION_NO_ACTION_AVAILABLE" }] },
      },
    ],
  });

/** Told to an agent that has no unfinished workflow at all. */
export const noWorkflows = (): RpcError => new RpcError("NOT_FOUND", "no Workflows found");

type Attributes = MessageShape<typeof workflowV1.AgentAttributesSchema>;
/** Characters as JSON, of which a part of an object in the store is made. */
const maxAttributes = 65_536;

/** What an agent tells of its machine, in the names of the interface; undefined for none, and for more than is kept. */
export function attributesOf(attributes: Attributes | undefined): JsonObject | undefined {
  if (attributes === undefined) return undefined;
  const told: unknown = toJson(workflowV1.AgentAttributesSchema, attributes, { useProtoFieldName: true });
  return isJsonObject(told) && JSON.stringify(told).length <= maxAttributes ? told : undefined;
}

type StatusRequest = MessageInitShape<typeof workflowV1.ActionStatusRequestSchema>;
const StateType = workflowV1.ActionStatusRequest_StateType;

/** What a report comes to, and whether its action has ended; INVALID_ARGUMENT for one that says nothing. */
export function reportedEvent({ actionId = "", actionState }: StatusRequest): AgentEvent {
  switch (actionState) {
    case StateType.RUNNING:
      return { is: "started", action: actionId };
    case StateType.SUCCESS:
      return { is: "succeeded", action: actionId };
    case StateType.FAILED:
      // What has happened is never sent: the message of a report is always the same.
      return {
        is: "failed",
        action: actionId,
        reason: "RuntimeError",
        message: "the agent reported FAILED without details",
      };
    case StateType.TIMEOUT:
      return { is: "failed", action: actionId, reason: "ActionTimeout", message: "the agent reported TIMEOUT" };
    case StateType.UNSPECIFIED:
    case StateType.PENDING:
    case undefined:
      throw noState();
  }
  // A number that the protocol does not have.
  throw noState();
}

const noState = (): RpcError =>
  new RpcError("INVALID_ARGUMENT", "action_state is neither RUNNING, SUCCESS, FAILED nor TIMEOUT");
