import type { FeedChunk } from "#kernel/streams/index.ts";
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
  /** Sends the following chunks; none only asks. Resolves with the durable number, or `refused` for good. */
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

export interface AgentServer {
  /** Rejects if the server is unreachable. `resumed`: the workflows the agent still holds. */
  connect(resumed: readonly Resumed[], signal: AbortSignal): Promise<AgentConnection>;
}
