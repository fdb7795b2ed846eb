import { type MessageShape, RpcError, type workflowV2 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { toldFailure, toldRejection } from "./told-failure.ts";

type EventMessage = MessageShape<typeof workflowV2.EventSchema>;

/** Members of the message by which an action is named, as the interface spells them: what is missing is told in those words. */
const fieldNames = {
  actionStarted: "action_started",
  actionSucceeded: "action_succeeded",
  actionFailed: "action_failed",
} as const;

/** Both are optional on the wire; people are to read something all the same. */
const untold = { reason: "RuntimeError", message: "the agent reported a failure without details" };

const missing = (field: string): RpcError => new RpcError("INVALID_ARGUMENT", `${field} is empty`);

/** An event and the id of the workflow it is of; INVALID_ARGUMENT names what is missing. */
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
