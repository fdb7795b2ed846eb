import type { FeedChunk } from "#kernel/logs/index.ts";
import type { AgentEvent } from "../events.ts";
import type { Answer, Resumed } from "./agent-state.ts";
import type { LogPush } from "./log-push.ts";
import type { AgentWorkflow } from "./work.ts";

/** A command of the server. Each may come more than once. */
export type Command =
  | { readonly is: "start"; readonly workflow: AgentWorkflow }
  | { readonly is: "stop"; readonly workflow: string };

export interface LogSink {
  /** Calls for one log that may be unanswered at once, each with the chunks after the previous one's. */
  readonly mostCalls: number;
  /**
   * Sends the chunks after the acknowledged ones; none only asks. Resolves with the number up to which all chunks are
   * durable, or `refused` if the server will never take them. A rejection may be retried.
   */
  push(of: LogPush, chunks: readonly LogPiece[], signal: AbortSignal): Promise<number | "refused">;
}

export type LogPiece = Pick<FeedChunk, "stream" | "at" | "data">;

export interface AgentConnection {
  /** Ends or throws when the connection breaks; read once. */
  readonly commands: AsyncIterable<Command>;
  /** Delivers an event. An answer is final; after a rejection, including a lost answer, the event may be sent again. */
  publish(workflow: string, event: AgentEvent, signal: AbortSignal): Promise<Answer>;
  /** Resolves when the server has said whether it takes logs; perhaps never. */
  readonly logs: Promise<LogSink | undefined>;
  close(): void;
}

/** Reaches the server by whatever protocol it speaks. */
export interface AgentServer {
  /** Rejects if the server is unreachable. `resumed`: the workflows the agent still holds. */
  connect(resumed: readonly Resumed[], signal: AbortSignal): Promise<AgentConnection>;
}
