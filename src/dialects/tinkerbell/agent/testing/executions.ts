import type { AgentAction, AgentWorkflow, Execution } from "../work.ts";

/** An action that runs a shell script. */
export const agentAction = (name: string, more: Partial<AgentAction> = {}): AgentAction => ({
  id: `id-${name}`,
  name,
  image: "busybox:1",
  args: [],
  env: {},
  volumes: [],
  ...more,
});

/** A workflow of these actions. */
export const agentWorkflow = (name: string, ...actions: readonly (string | AgentAction)[]): AgentWorkflow => ({
  id: `default/${name}/uid-${name}`,
  actions: actions.map((action) => (typeof action === "string" ? agentAction(action) : action)),
});

export const execution = (workflow: AgentWorkflow, index = 0, attempt = 1): Execution => ({
  workflow: workflow.id,
  action: workflow.actions[index] ?? agentAction("none"),
  attempt,
});
