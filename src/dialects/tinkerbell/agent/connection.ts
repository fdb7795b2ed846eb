import type { AgentEvent } from "../events.ts";
import type { Answer, Resumed } from "./agent-state.ts";
import type { AgentWorkflow } from "./work.ts";

/** What a server tells an agent to do. Each may come more than once. */
export type Command =
  | { readonly is: "start"; readonly workflow: AgentWorkflow }
  | { readonly is: "stop"; readonly workflow: string };

/** A server that was reached, until the connection breaks. */
export interface AgentConnection {
  /** Ends, or throws, when the connection breaks; is read once. */
  readonly commands: AsyncIterable<Command>;
  /**
   * Tells an event. The answer means that it is recorded for good, or never will be; everything else, an answer that was lost
   * included, is a rejection, and the event may be told again.
   */
  publish(workflow: string, event: AgentEvent, signal: AbortSignal): Promise<Answer>;
  close(): void;
}

/** How an agent reaches its server, whatever protocol that speaks. */
export interface AgentServer {
  /** Rejects when the server cannot be reached now. `resumed`: what the agent is not free of. */
  connect(resumed: readonly Resumed[], signal: AbortSignal): Promise<AgentConnection>;
}
