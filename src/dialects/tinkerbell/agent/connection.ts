import type { FeedChunk } from "#kernel/logs/index.ts";
import type { AgentEvent } from "../events.ts";
import type { Answer, Resumed } from "./agent-state.ts";
import type { LogPush } from "./log-push.ts";
import type { AgentWorkflow } from "./work.ts";

/** What a server tells an agent to do. Each may come more than once. */
export type Command =
  | { readonly is: "start"; readonly workflow: AgentWorkflow }
  | { readonly is: "stop"; readonly workflow: string };

/** Where a server takes what actions print. */
export interface LogSink {
  /**
   * Calls that may be made for a log before the first of them is answered: each brings the chunks that follow those of the one before. 1 for a
   * server that takes them one after the other.
   */
  readonly mostCalls: number;
  /**
   * Sends the chunks that follow what was acknowledged of a log; none only asks. Resolves with the number up to which the server has all
   * durably, or `refused` when it never will; everything else is a rejection, and may be tried again.
   */
  push(of: LogPush, chunks: readonly LogPiece[], signal: AbortSignal): Promise<number | "refused">;
}

/** Output of one stream and one time. */
export type LogPiece = Pick<FeedChunk, "stream" | "at" | "data">;

/** A server that was reached, until the connection breaks. */
export interface AgentConnection {
  /** Ends, or throws, when the connection breaks; is read once. */
  readonly commands: AsyncIterable<Command>;
  /**
   * Tells an event. The answer means that it is recorded for good, or never will be; everything else, an answer that was lost
   * included, is a rejection, and the event may be told again.
   */
  publish(workflow: string, event: AgentEvent, signal: AbortSignal): Promise<Answer>;
  /** Resolves when the server has said whether it takes logs; perhaps never. */
  readonly logs: Promise<LogSink | undefined>;
  close(): void;
}

/** How an agent reaches its server, whatever protocol that speaks. */
export interface AgentServer {
  /** Rejects when the server cannot be reached now. `resumed`: what the agent is not free of. */
  connect(resumed: readonly Resumed[], signal: AbortSignal): Promise<AgentConnection>;
}
