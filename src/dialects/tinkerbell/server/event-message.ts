import { type MessageShape, RpcError, type workflowV2 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { toldFailure, toldRejection } from "./told-failure.ts";

type EventMessage = MessageShape<typeof workflowV2.EventSchema>;

/** Field names of the protocol, for messages about missing ones. */
const fieldNames = {
  actionStarted: "action_started",
  actionSucceeded: "action_succeeded",
  actionFailed: "action_failed",
} as const;

/** Both are optional in the protocol. */
const untold = { reason: "RuntimeError", message: "the agent reported a failure without details" };

const missing = (field: string): RpcError => new RpcError("INVALID_ARGUMENT", `${field} is empty`);

/** An event and its workflow's id. INVALID_ARGUMENT names a missing field. */
export function eventIn(message: EventMessage | undefined): readonly [string, AgentEvent] {
  if (message === undefined) throw missing("event");
  const { workflowId, event } = message;
  if (workflowId === "") throw missing("event.workflow_id");
  if (event.case === undefined) throw missing("event.event");
  if (event.case === "workflowRejected") {
    const { failureReason = "", failureMessage } = event.value;
    return [workflowId, { is: "rejected", ...toldRejection(failureReason, failureMessage) }];
  }
  const action = event.value.actionId;
  if (action === "") throw missing(`event.${fieldNames[event.case]}.action_id`);
  if (event.case === "actionStarted") return [workflowId, { is: "started", action }];
  if (event.case === "actionSucceeded") return [workflowId, { is: "succeeded", action }];
  const { failureReason = "", failureMessage = "" } = event.value;
  return [workflowId, { is: "failed", action, ...toldFailure(failureReason, failureMessage, untold) }];
}
