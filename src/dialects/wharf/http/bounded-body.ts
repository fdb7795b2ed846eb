import { Readable } from "node:stream";
import { refuse } from "./problem.ts";

type Body = AsyncIterable<Uint8Array> | null | undefined;

const mostLetGo = 64 * 1024 * 1024;

/** Reads a body without relying on content-length. Oversized bodies are refused after reading on for a while, because
 * clients that are still sending do not read an answer. */
export async function boundedText(body: Body, mostBytes: number, what = "a body"): Promise<string> {
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
    throw refuse("unexpected-body-read-error", "the body has ended before it was complete", { cause });
  }
  if (size <= mostBytes) return Buffer.concat(chunks).toString("utf8");
  // Keeps reading so that the answer arrives.
  if (body instanceof Readable) body.resume();
  throw refuse("too-large", `expected ${what} of at most ${mostBytes} bytes`);
}

/** Ending the iteration must not destroy the connection. */
const partsOf = (body: Body): AsyncIterable<Uint8Array> | readonly Uint8Array[] =>
  body instanceof Readable ? { [Symbol.asyncIterator]: () => body.iterator({ destroyOnReturn: false }) } : (body ?? []);
