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

/** Ten years: for an agent 0 seconds means no time at all. */
const forEver = 315_360_000;

/** Seconds an action may take: its own limit, the workflow's remaining time, or none. At least 1. */
export function timeoutOf(action: Action, { deadlines, timeout }: WorkflowState, now: Instant): bigint {
  if (action.timeout > 0) return BigInt(Math.ceil(action.timeout / 1000));
  const left = deadlines.workflow === undefined ? timeout : deadlines.workflow - now;
  if (deadlines.workflow === undefined && timeout === 0) return BigInt(forEver);
  return BigInt(Math.max(1, Math.ceil(left / 1000)));
}

/** `NAME=value`, sorted, as in both older protocols. */
export const environmentOf = ({ env }: Action): string[] =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .sort();

/** Command and arguments in one list; the entrypoint's replacement comes first. */
export const commandOf = ({ cmd, args }: Action): string[] => [...(cmd === undefined ? [] : [cmd]), ...args];

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

export const noActionYet = (): RpcError =>
  new RpcError("FAILED_PRECONDITION", "no action available", {
    details: [
      {
        schema: rpcStatus.PreconditionFailureSchema,
        value: { violations: [{ type: "PRECONDITION_FAILURE_VIOLATION_NO_ACTION_AVAILABLE" }] },
      },
    ],
  });

export const noWorkflows = (): RpcError => new RpcError("NOT_FOUND", "no Workflows found");

type Attributes = MessageShape<typeof workflowV1.AgentAttributesSchema>;
/** Characters of JSON; stored in the Agent object. */
const maxAttributes = 65_536;

/** Facts about the machine, by the names of the protocol; undefined if empty or too large. */
export function attributesOf(attributes: Attributes | undefined): JsonObject | undefined {
  if (attributes === undefined) return undefined;
  const told: unknown = toJson(workflowV1.AgentAttributesSchema, attributes, { useProtoFieldName: true });
  return isJsonObject(told) && JSON.stringify(told).length <= maxAttributes ? told : undefined;
}

type StatusRequest = MessageInitShape<typeof workflowV1.ActionStatusRequestSchema>;
const StateType = workflowV1.ActionStatusRequest_StateType;

/** The event of a report; INVALID_ARGUMENT if it has none. */
export function reportedEvent({ actionId = "", actionState }: StatusRequest): AgentEvent {
  switch (actionState) {
    case StateType.RUNNING:
      return { is: "started", action: actionId };
    case StateType.SUCCESS:
      return { is: "succeeded", action: actionId };
    case StateType.FAILED:
      // Reports have no failure message: theirs is constant.
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
  throw noState();
}

const noState = (): RpcError =>
  new RpcError("INVALID_ARGUMENT", "action_state is neither RUNNING, SUCCESS, FAILED nor TIMEOUT");
