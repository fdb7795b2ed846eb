import type { OpenCall, PythonClient } from "./python-client.ts";

// The command stream and its events, as any client of the interface speaks them.

const v2 = "internal.proto.workflow.v2";
const service = `/${v2}.WorkflowService`;

/** An event of the action with the id `id-one`, unless another one is named. */
export type Told = readonly ["started" | "succeeded" | "failed" | "rejected", string?];

/** Opens the command stream of an agent. */
export const connect = (client: PythonClient, agent_id: string): OpenCall =>
  client.open(`${service}/GetWorkflows`, `${v2}.GetWorkflowsRequest`, `${v2}.GetWorkflowsResponse`, { agent_id });

/** Tells an event; the code of the answer. */
export async function tell(client: PythonClient, workflow_id: string, [is, action_id = "id-one"]: Told) {
  const event = {
    started: { action_started: { action_id } },
    succeeded: { action_succeeded: { action_id } },
    failed: { action_failed: { action_id, failure_reason: "DiskMissing", failure_message: "no /dev/sda" } },
    rejected: { workflow_rejected: { failure_reason: "WorkflowInProgress", failure_message: "busy" } },
  }[is];
  const request = { event: { workflow_id, ...event } };
  const path = `${service}/PublishEvent`;
  return (await client.call(path, `${v2}.PublishEventRequest`, `${v2}.PublishEventResponse`, request)).code;
}

/** How many commands of a kind have come. */
export const countOf = (call: OpenCall, command: "start_workflow" | "stop_workflow"): number =>
  call.messages.filter((message) => command in message).length;

/** A workflow as an agent is told of it. */
export interface ToldWorkflow {
  readonly workflow_id: string;
  readonly actions: readonly Readonly<Record<string, unknown>>[];
}

/** The workflows that were started, oldest first. */
export const startsOf = (call: OpenCall): readonly ToldWorkflow[] =>
  call.messages.flatMap(({ start_workflow: command }) =>
    command === undefined ? [] : [(command as { readonly workflow: ToldWorkflow }).workflow],
  );
