import { withMasks } from "../logs/masking.ts";
import { present } from "../members.ts";
import { type Action, segmentOf, type WorkflowState } from "../state.ts";
import { type StartedAction, type StartedWorkflow, startBytes, stopBytes } from "./command-bytes.ts";

export interface Command {
  readonly cmd:
    | { readonly case: "startWorkflow"; readonly value: { readonly workflow: StartedWorkflow } }
    | { readonly case: "stopWorkflow"; readonly value: { readonly workflowId: string } };
}

export const commandBytes = ({ cmd }: Command): Uint8Array =>
  cmd.case === "startWorkflow" ? startBytes(cmd.value.workflow) : stopBytes(cmd.value.workflowId);

/** The agent's actions from the first unfinished one. `masks`: variables to mask in logs. */
export const startCommand = (id: string, state: WorkflowState, masks: readonly string[] = []): Command => ({
  cmd: {
    case: "startWorkflow",
    value: { workflow: { workflowId: id, actions: segmentOf(state).map((action) => actionMessage(action, masks)) } },
  },
});

export const stopCommand = (id: string): Command => ({ cmd: { case: "stopWorkflow", value: { workflowId: id } } });

/** Omitted unless set: released agents use their field number for another type. */
const actionMessage = (
  { id, name, image, cmd, args, env, volumes, pid, network }: Action,
  masks: readonly string[],
): StartedAction => ({
  id,
  name,
  image,
  ...present({ cmd }),
  args,
  env: withMasks(env, masks),
  volumes,
  ...(pid === undefined && network === undefined ? {} : { ns: present({ pid, net: network }) }),
});
