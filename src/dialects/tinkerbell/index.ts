export type { AgentOption } from "./agent/agent-options.ts";
export type { AgentSettings, AgentSurroundings } from "./agent/open-agent.ts";
export type { TinkerbellOptions } from "./options.ts";

/** The agent, which runs on machines and not in the server. Loaded when it is asked for. */
export async function loadAgent() {
  const [options, id, agent] = await Promise.all([
    import("./agent/agent-options.ts"),
    import("./agent/default-id.ts"),
    import("./agent/open-agent.ts"),
  ]);
  const { readAgentOptions } = options;
  return { readAgentOptions, defaultAgentId: id.defaultAgentId, openAgent: agent.openAgent };
}
