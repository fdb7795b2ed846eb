import { deferred, type Millis } from "#lib/base/index.ts";
import { agentV1, type MessageInitShape, type RpcChannel, RpcError, type StatusName } from "#kernel/rpc/index.ts";
import type { LogPiece, LogSink } from "./connection.ts";
import type { LogPush } from "./log-push.ts";

/** Enough for 1 MiB over a slow line to a slow disk. */
const answerLimit: Millis = 60_000;

/** For servers that order calls: one is flushed while the next arrives. Each is a batch in memory. */
const mostOverlapping = 4;

/** Answers that would not change. Authentication errors are retried, as for events. */
const final: ReadonlySet<StatusName> = new Set([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "FAILED_PRECONDITION",
  "UNIMPLEMENTED",
]);

const { pushLogs } = agentV1.AgentService.method;
type ChunkInit = MessageInitShape<typeof agentV1.LogChunkSchema>;

export interface LogFeatures {
  readonly overlap: boolean;
}

/** Reads the server's comma-separated features; undefined if it takes no logs. Unknown ones are ignored. */
export function logFeaturesIn(text: string): LogFeatures | undefined {
  const words = text.split(",").map((word) => word.trim());
  return words.includes("logs") ? { overlap: words.includes("logs-overlap") } : undefined;
}

/** The log service of a server. `identity`: headers that authenticate the agent. */
export function logSink(
  channel: Pick<RpcChannel, "send">,
  identity: Readonly<Record<string, string>>,
  { overlap }: LogFeatures,
): LogSink {
  /** Calls are sent one after the other, because in parallel on one line all would be late. */
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
        // Treating this as 0 would send the whole log again.
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

/** Number 0 is no part of a log, and is answered all the same. */
const questionOf = ({ workflow, action }: LogPush): ChunkInit => ({ workflowId: workflow, actionId: action, seq: 0n });

/** Numbered after the last acknowledged one. */
const messageOf = ({ workflow, action, seq }: LogPush, { stream, at, data }: LogPiece, offset: number): ChunkInit => ({
  workflowId: workflow,
  actionId: action,
  stream: agentV1.LogChunk_Stream[stream === "stdout" ? "STDOUT" : "STDERR"],
  time: { seconds: BigInt(Math.floor(at / 1000)), nanos: (at % 1000) * 1e6 },
  data,
  seq: BigInt(seq + offset),
});
