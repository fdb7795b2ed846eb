import type { ServerResponse } from "node:http";

// Watchers share bytes and their HTTP/1.1 frame: a response would join four pieces for each reader.

/** Bytes for many answers without a length. */
export interface Chunk {
  readonly bytes: Buffer;
  /** The same with their frame (RFC 9112, 7.1). */
  readonly framed: Buffer;
}

const lineEnd = Buffer.from("\r\n");

/** At least one byte: an empty chunk ends an answer. */
export function chunkOf(parts: readonly Buffer[]): Chunk {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length === 0) throw new Error("an empty chunk would end the answer");
  const head = Buffer.from(`${length.toString(16)}\r\n`);
  const framed = Buffer.concat([head, ...parts, lineEnd]);
  return { framed, bytes: framed.subarray(head.length, head.length + length) };
}

/** Sends after everything written. `writableNeedDrain` does not count it. The headers must have been sent. */
export function writeChunk(response: ServerResponse, { bytes, framed }: Chunk): void {
  const { socket } = response;
  // HTTP/1.0 has no chunks, HEAD has no body, and a pipelined answer waits for those before it.
  if (socket !== null && response.chunkedEncoding && response.req.method === "GET") socket.write(framed);
  else response.write(bytes);
}

/** Shares encoded events among watchers for one turn of the event loop. Keyed by batch (identity) and view. */
export class TurnCache {
  #made = new Map<object, Map<string, Chunk>>();

  get(source: object, key: string, make: () => Chunk): Chunk {
    if (this.#made.size === 0) setImmediate(() => (this.#made = new Map()));
    let byKey = this.#made.get(source);
    if (byKey === undefined) this.#made.set(source, (byKey = new Map()));
    let chunk = byKey.get(key);
    if (chunk === undefined) byKey.set(key, (chunk = make()));
    return chunk;
  }
}
