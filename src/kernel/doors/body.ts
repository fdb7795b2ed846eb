import { Readable } from "node:stream";
import { DoorRefusal } from "./refusal.ts";

type Body = AsyncIterable<Uint8Array> | null | undefined;

const mostLetGo = 64 * 1024 * 1024;

/** A whole body as text, with the rules of `readBody`. */
export const boundedText = async (body: Body, mostBytes: number, what?: string): Promise<string> =>
  (await readBody(body, mostBytes, what)).toString("utf8");

/** Reads a body without relying on content-length. Oversized bodies are refused after reading on for a while, because
 * clients that are still sending do not read an answer. Rejects with a `DoorRefusal`. */
export async function readBody(body: Body, mostBytes: number, what = "a body"): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of partsOf(body)) {
      size += chunk.length;
      if (size > mostBytes + mostLetGo) break;
      if (size <= mostBytes) chunks.push(chunk);
      else chunks.length = 0;
    }
  } catch (cause) {
    throw new DoorRefusal("incomplete-body", "the body has ended before it was complete", { cause });
  }
  if (size <= mostBytes) return Buffer.concat(chunks);
  // Keeps reading so that the answer arrives.
  if (body instanceof Readable) body.resume();
  throw new DoorRefusal("too-large", `expected ${what} of at most ${mostBytes} bytes`);
}

/** Ending the iteration must not destroy the connection. */
const partsOf = (body: Body): AsyncIterable<Uint8Array> | readonly Uint8Array[] =>
  body instanceof Readable ? { [Symbol.asyncIterator]: () => body.iterator({ destroyOnReturn: false }) } : (body ?? []);
