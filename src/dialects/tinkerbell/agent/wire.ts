import type { MessageInitShape, MessageShape, workflowV2 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";
import type { Resumed } from "./agent-state.ts";
import type { Command } from "./connection.ts";
import type { AgentAction, AgentWorkflow } from "./work.ts";

// Messages of the command stream to what the agent works with, and back. Pure.

type CommandMessage = MessageShape<typeof workflowV2.GetWorkflowsResponseSchema>;
type WorkflowMessage = MessageShape<typeof workflowV2.WorkflowSchema>;
type EventInit = MessageInitShape<typeof workflowV2.EventSchema>;

/** Undefined for what this release does not know, or that lacks what it is about. */
export function decodeCommand({ cmd }: CommandMessage): Command | undefined {
  if (cmd.case === "stopWorkflow") return { is: "stop", workflow: cmd.value.workflowId };
  const workflow = cmd.case === "startWorkflow" ? cmd.value.workflow : undefined;
  return workflow === undefined ? undefined : { is: "start", workflow: decodeWorkflow(workflow) };
}

/** Actions keep their order, which is what they are carried out in. */
const decodeWorkflow = ({ workflowId, actions }: WorkflowMessage): AgentWorkflow => ({
  id: workflowId,
  actions: actions.map(decodeAction),
});

/** Plain data, for it goes into the journal. Empty texts say nothing, as everywhere in this protocol. */
function decodeAction(message: WorkflowMessage["actions"][number]): AgentAction {
  const { id, name, image, cmd, args, env, volumes, ns } = message;
  const given = (text: string | undefined) => (text === "" ? undefined : text);
  return {
    id,
    name,
    image,
    args: [...args],
    env: { ...env },
    volumes: [...volumes],
    ...present({ cmd: given(cmd), pid: given(ns?.pid), network: given(ns?.net) }),
  };
}

/**
 * An event as the protocol has it. Times are not told: servers count by their own clock, because that of a machine which has just been
 * started may show any year.
 */
export function encodeEvent(workflow: string, event: AgentEvent): EventInit {
  const of = (told: NonNullable<EventInit["event"]>): EventInit => ({ workflowId: workflow, event: told });
  switch (event.is) {
    case "started":
      return of({ case: "actionStarted", value: { actionId: event.action } });
    case "succeeded":
      return of({ case: "actionSucceeded", value: { actionId: event.action } });
    case "failed": {
      const { action, reason, message } = event;
      return of({ case: "actionFailed", value: { actionId: action, failureReason: reason, failureMessage: message } });
    }
    case "rejected": {
      const { reason, message } = event;
      return of({
        case: "workflowRejected",
        value: { failureMessage: message, ...present({ failureReason: reason }) },
      });
    }
  }
}

/**
 * One value of the header `x-slipway-resume`. Ids of workflows hold slashes, but neither commas nor semicolons: they are made of names of
 * Kubernetes.
 */
export const formatResumed = ({ workflow, action, state }: Resumed): string =>
  `${workflow};action=${action};state=${state}`;
