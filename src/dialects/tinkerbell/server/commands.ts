import type { MessageInitShape, workflowV2 } from "#kernel/rpc/index.ts";
import { withMasks } from "../masking.ts";
import { present } from "../members.ts";
import { type Action, segmentOf, type WorkflowState } from "../state.ts";

/** What an agent on a command stream is told. */
export type Command = MessageInitShape<typeof workflowV2.GetWorkflowsResponseSchema>;

/**
 * The actions that are this agent's, from the first unfinished one on. `masks`: names of variables whose values are kept out of logs, for an
 * agent that heeds them.
 */
export const startCommand = (id: string, state: WorkflowState, masks: readonly string[] = []): Command => ({
  cmd: {
    case: "startWorkflow",
    value: { workflow: { workflowId: id, actions: segmentOf(state).map((action) => actionMessage(action, masks)) } },
  },
});

export const stopCommand = (id: string): Command => ({ cmd: { case: "stopWorkflow", value: { workflowId: id } } });

/** Namespaces are left out unless they are set: released agents know another type under their number. */
const actionMessage = (
  { id, name, image, cmd, args, env, volumes, pid, network }: Action,
  masks: readonly string[],
) => ({
  id,
  name,
  image,
  ...present({ cmd }),
  args: [...args],
  env: { ...withMasks(env, masks) },
  volumes: [...volumes],
  ...(pid === undefined && network === undefined ? {} : { ns: present({ pid, net: network }) }),
});
