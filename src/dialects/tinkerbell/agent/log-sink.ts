import { deferred, type Millis } from "#lib/base/index.ts";
import { agentV1, type MessageInitShape, type RpcChannel, RpcError, type StatusName } from "#kernel/rpc/index.ts";
import type { LogPiece, LogSink } from "./connection.ts";
import type { LogPush } from "./log-push.ts";

// A batch is one call: its answer is the only one that the interface has.

/** For a call that brings a mebibyte over a slow line to a slow disk. */
const answerLimit: Millis = 60_000;

/** Of a server that puts them in order: while one is flushed the next is on its way. Each is a batch in memory here. */
const mostOverlapping = 4;

/** What would be answered the same each time. Who is not let in tries again, as for events: that may pass. */
const final: ReadonlySet<StatusName> = new Set([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "FAILED_PRECONDITION",
  "UNIMPLEMENTED",
]);

const { pushLogs } = agentV1.AgentService.method;
type ChunkInit = MessageInitShape<typeof agentV1.LogChunkSchema>;

/** What a server says of itself when it takes logs. */
export interface LogFeatures {
  readonly overlap: boolean;
}

/**
 * Reads the words that a server names its features by, with commas between them; undefined when it takes no logs. Unknown ones are
 * somebody's of tomorrow.
 */
export function logFeaturesIn(text: string): LogFeatures | undefined {
  const words = text.split(",").map((word) => word.trim());
  return words.includes("logs") ? { overlap: words.includes("logs-overlap") } : undefined;
}

/** The service for logs of a server that has one. `identity` are the headers by which the agent proves who it is. */
export function logSink(
  channel: Pick<RpcChannel, "send">,
  identity: Readonly<Record<string, string>>,
  { overlap }: LogFeatures,
): LogSink {
  /** Until what came before has been sent: calls that share the line would all be late, where the first can be on the disk meanwhile. */
  let line: Promise<void> = Promise.resolve();
  return {
    mostCalls: overlap ? mostOverlapping : 1,
    async push(push, chunks, signal) {
      const headers = {
        ...identity,
        "x-slipway-log-source": push.source,
        ...(overlap ? { "x-slipway-log-overlap": "true" } : {}),
      };
      const messages =
        chunks.length === 0 ? [questionOf(push)] : chunks.map((chunk, at) => messageOf(push, chunk, at + 1));
      const sent = deferred<void>();
      const free = line;
      line = sent.promise;
      try {
        await free;
        const options = { headers, signal, timeout: answerLimit, onSent: () => sent.resolve() };
        const { received } = await channel.send(pushLogs, messages, options);
        const own = received.find(
          ({ workflowId, actionId }) => workflowId === push.workflow && actionId === push.action,
        );
        // Taken for a server that has nothing, it would be sent the whole log a second time.
        if (own === undefined)
          throw new RpcError("UNAVAILABLE", "the answer does not say how much of the log has arrived");
        return Number(own.seq);
      } catch (thrown) {
        if (thrown instanceof RpcError && final.has(thrown.code)) return "refused";
        throw thrown;
      } finally {
        sent.resolve();
      }
    },
  };
}

/** Numbers begin with 1: this one is no part of a log, and is answered all the same. */
const questionOf = ({ workflow, action }: LogPush): ChunkInit => ({ workflowId: workflow, actionId: action, seq: 0n });

/** Numbered from the one that was acknowledged last. */
const messageOf = ({ workflow, action, seq }: LogPush, { stream, at, data }: LogPiece, offset: number): ChunkInit => ({
  workflowId: workflow,
  actionId: action,
  stream: agentV1.LogChunk_Stream[stream === "stdout" ? "STDOUT" : "STDERR"],
  time: { seconds: BigInt(Math.floor(at / 1000)), nanos: (at % 1000) * 1e6 },
  data,
  seq: BigInt(seq + offset),
});
