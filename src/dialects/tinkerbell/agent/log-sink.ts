import type { Millis } from "#lib/base/index.ts";
import { agentV1, type MessageInitShape, type RpcChannel, RpcError, type StatusName } from "#kernel/rpc/index.ts";
import type { LogPiece, LogSink } from "./connection.ts";
import type { LogPush } from "./log-push.ts";

// A batch is one call: its answer is the only one that the interface has.

/** For a call that brings a mebibyte over a slow line to a slow disk. */
const answerLimit: Millis = 60_000;

/** What would be answered the same each time. Who is not let in tries again, as for events: that may pass. */
const final: ReadonlySet<StatusName> = new Set([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "FAILED_PRECONDITION",
  "UNIMPLEMENTED",
]);

const { pushLogs } = agentV1.AgentService.method;
type ChunkInit = MessageInitShape<typeof agentV1.LogChunkSchema>;

/** The service for logs of a server that has one. `identity` are the headers by which the agent proves who it is. */
export const logSink = (channel: Pick<RpcChannel, "send">, identity: Readonly<Record<string, string>>): LogSink => ({
  async push(push, chunks, signal) {
    const headers = { ...identity, "x-slipway-log-source": push.source };
    const messages =
      chunks.length === 0 ? [questionOf(push)] : chunks.map((chunk, at) => messageOf(push, chunk, at + 1));
    try {
      const { received } = await channel.send(pushLogs, messages, { headers, signal, timeout: answerLimit });
      const own = received.find(({ workflowId, actionId }) => workflowId === push.workflow && actionId === push.action);
      return Number(own?.seq ?? 0n);
    } catch (thrown) {
      if (thrown instanceof RpcError && final.has(thrown.code)) return "refused";
      throw thrown;
    }
  },
});

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
