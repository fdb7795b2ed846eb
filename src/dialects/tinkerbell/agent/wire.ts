import type { MessageInitShape, MessageShape, workflowV2 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";
import type { Resumed } from "./agent-state.ts";
import type { Command } from "./connection.ts";
import type { AgentAction, AgentWorkflow } from "./work.ts";

type CommandMessage = MessageShape<typeof workflowV2.GetWorkflowsResponseSchema>;
type WorkflowMessage = MessageShape<typeof workflowV2.WorkflowSchema>;
type EventInit = MessageInitShape<typeof workflowV2.EventSchema>;

/** Undefined for unknown or incomplete commands. */
export function decodeCommand({ cmd }: CommandMessage): Command | undefined {
  if (cmd.case === "stopWorkflow") return { is: "stop", workflow: cmd.value.workflowId };
  const workflow = cmd.case === "startWorkflow" ? cmd.value.workflow : undefined;
  return workflow === undefined ? undefined : { is: "start", workflow: decodeWorkflow(workflow) };
}

const decodeWorkflow = ({ workflowId, actions }: WorkflowMessage): AgentWorkflow => ({
  id: workflowId,
  actions: actions.map(decodeAction),
});

/** Plain data for the journal. Empty texts are absent, as everywhere in this protocol. */
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

/** Without times: the clock of a machine that just booted may be wrong, so servers use their own. */
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

/** One value of the header `x-slipway-resume`. Ids consist of Kubernetes names, without commas and semicolons. */
export const formatResumed = ({ workflow, action, state }: Resumed): string =>
  `${workflow};action=${action};state=${state}`;
