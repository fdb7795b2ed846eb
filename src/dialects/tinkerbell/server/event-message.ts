import { type MessageShape, RpcError, type workflowV2 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";

type EventMessage = MessageShape<typeof workflowV2.EventSchema>;

/** Members of the message by which an action is named, as the interface spells them: what is missing is told in those words. */
const fieldNames = {
  actionStarted: "action_started",
  actionSucceeded: "action_succeeded",
  actionFailed: "action_failed",
} as const;

const missing = (field: string): RpcError => new RpcError("INVALID_ARGUMENT", `${field} is empty`);

/** An event and the id of the workflow it is of; INVALID_ARGUMENT names what is missing. */
export function eventIn(message: EventMessage | undefined): readonly [string, AgentEvent] {
  if (message === undefined) throw missing("event");
  const { workflowId, event } = message;
  if (workflowId === "") throw missing("event.workflow_id");
  if (event.case === undefined) throw missing("event.event");
  if (event.case === "workflowRejected") {
    const { failureReason: reason, failureMessage } = event.value;
    return [workflowId, { is: "rejected", message: failureMessage, ...present({ reason }) }];
  }
  const action = event.value.actionId;
  if (action === "") throw missing(`event.${fieldNames[event.case]}.action_id`);
  if (event.case === "actionStarted") return [workflowId, { is: "started", action }];
  if (event.case === "actionSucceeded") return [workflowId, { is: "succeeded", action }];
  return [workflowId, { is: "failed", action, ...failureIn(event.value) }];
}

/** Both are optional on the wire; people are to read something all the same. */
function failureIn({
  failureReason = "",
  failureMessage = "",
}: MessageShape<typeof workflowV2.Event_ActionFailedSchema>) {
  return {
    reason: failureReason === "" ? "RuntimeError" : failureReason,
    message: failureMessage === "" ? "the agent reported a failure without details" : failureMessage,
  };
}
