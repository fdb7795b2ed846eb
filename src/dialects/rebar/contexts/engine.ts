import type { RebarClient } from "../agent/client.ts";
import type { WantedAgent } from "./wanted.ts";

/** Where contexts with one value of `Engine` run. */
export interface ContextEngine {
  /**
   * Runs the agent until it exits by itself or the signal aborts; continues one that an earlier server has left.
   * Rejects if it cannot run.
   */
  run(agent: WantedAgent, signal: AbortSignal): Promise<void>;
  /** Removes what an earlier server has left for agents that are not in `kept`. */
  sweep(kept: ReadonlySet<string>): Promise<void>;
  close(): Promise<void>;
}

/** How agents of contexts reach the server. */
export interface AgentAccess {
  /** A client that speaks for the machine. The caller closes it. */
  connect(machine: string): RebarClient;
  /** RS_TOKEN of agents that images bring. */
  token(machine: string): string;
  /** RS_ENDPOINTS, as containers reach the server. */
  readonly endpoints: readonly string[];
}

export const variablesOf = (agent: WantedAgent, access: AgentAccess): Readonly<Record<string, string>> => ({
  RS_UUID: agent.machine,
  RS_TOKEN: access.token(agent.machine),
  RS_CONTEXT: agent.context,
  RS_ENDPOINTS: access.endpoints.join(" "),
});
