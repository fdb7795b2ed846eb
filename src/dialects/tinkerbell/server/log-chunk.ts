import type { Instant } from "#lib/base/index.ts";
import type { LogStream, ReceivedChunk } from "#kernel/streams/index.ts";
import { agentV1, type MessageShape, RpcError } from "#kernel/rpc/index.ts";

// Validates chunks of logs, which end up in files that people read.

export interface TaggedChunk extends ReceivedChunk {
  readonly workflow: string;
  readonly action: string;
}

/** Slipway's agents send 64 KiB, and longer lines whole. */
export const maxChunkBytes = 262_144;

/** Throws INVALID_ARGUMENT for an invalid chunk. `now` replaces an invalid time. */
export function chunkIn(message: MessageShape<typeof agentV1.LogChunkSchema>, now: Instant): TaggedChunk {
  const { workflowId: workflow, actionId: action, data } = message;
  if (workflow === "") throw invalid("workflow_id is empty");
  if (action === "") throw invalid("action_id is empty");
  if (data.length > maxChunkBytes) throw invalid(`data is longer than ${maxChunkBytes} bytes`);
  if (message.seq > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid("seq is larger than 2^53 - 1");
  const { buffer, byteOffset, byteLength } = data;
  return {
    workflow,
    action,
    seq: Number(message.seq),
    stream: streamIn(message),
    at: instantIn(message.time) ?? now,
    data: Buffer.from(buffer, byteOffset, byteLength),
  };
}

/** Final: repeating it gets the same answer. */
const invalid = (message: string): RpcError => new RpcError("INVALID_ARGUMENT", message);

/** Questions and ends belong to no stream. */
function streamIn({ stream, data }: MessageShape<typeof agentV1.LogChunkSchema>): LogStream {
  if (stream === agentV1.LogChunk_Stream.STDERR) return "stderr";
  const isNeither = stream === agentV1.LogChunk_Stream.UNSPECIFIED && data.length === 0;
  if (stream === agentV1.LogChunk_Stream.STDOUT || isNeither) return "stdout";
  throw invalid(`expected STREAM_STDOUT or STREAM_STDERR for stream, found ${stream}`);
}

/** 9999-12-31T23:59:59Z: records have four digits for the year. */
const lastSecond = 253_402_300_799n;

/** The clock of a machine that just booted may be wrong; undefined if a record cannot hold it. */
function instantIn(time: { readonly seconds: bigint; readonly nanos: number } | undefined): Instant | undefined {
  if (time === undefined || time.seconds < 0n || time.seconds > lastSecond) return undefined;
  return Number(time.seconds) * 1000 + Math.min(999, Math.max(0, Math.floor(time.nanos / 1e6)));
}
