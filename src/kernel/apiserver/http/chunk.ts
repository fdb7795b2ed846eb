import type { ServerResponse } from "node:http";

// A thousand watchers get the same bytes. What HTTP/1.1 puts around them is made once, too, and goes to each connection in one piece: a
// response would hand over four, which the connection copies together for every one of its readers before it encrypts them.

/** Bytes of an answer that has no length, ready to be sent to many. */
export interface Chunk {
  readonly bytes: Buffer;
  /** The same in the middle of their frame (RFC 9112, 7.1). */
  readonly framed: Buffer;
}

const lineEnd = Buffer.from("\r\n");

/** Of at least one byte: an empty chunk is the end of an answer. */
export function chunkOf(parts: readonly Buffer[]): Chunk {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length === 0) throw new Error("an empty chunk would end the answer");
  const head = Buffer.from(`${length.toString(16)}\r\n`);
  const framed = Buffer.concat([head, ...parts, lineEnd]);
  return { framed, bytes: framed.subarray(head.length, head.length + length) };
}

/**
 * Sends the chunk behind all that was written to the response before. It counts as written: `writableLength` has it, but `writableNeedDrain`
 * does not know of it. The headers must be sent.
 */
export function writeChunk(response: ServerResponse, { bytes, framed }: Chunk): void {
  const { socket } = response;
  // An answer of HTTP/1.0 ends with its connection, one to HEAD has no body, and a pipelined one waits for those before it.
  if (socket !== null && response.chunkedEncoding && response.req.method === "GET") socket.write(framed);
  else response.write(bytes);
}
