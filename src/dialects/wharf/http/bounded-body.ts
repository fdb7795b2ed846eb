import { Readable } from "node:stream";
import { refuse } from "./problem.ts";

/** Bytes of a request: Node's stream, or the body of a request of the web's kind; null where there is none. */
type Body = AsyncIterable<Uint8Array> | null | undefined;

/** Whoever sends so much more than he may is not heard out. */
const mostLetGo = 64 * 1024 * 1024;

/**
 * All of a body as text, empty where there is none. It asks no header, because a body may have no length: over HTTP/2, and where it comes in chunks.
 * Refuses what is longer than `mostBytes`, and what ends in the middle; `what` is what the refusal calls it. What is too long is read to its end
 * before that, and kept nowhere: who still sends when his connection ends reads no answer.
 */
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
  // For as long as the server is patient.
  if (body instanceof Readable) body.resume();
  throw refuse("too-large", `expected ${what} of at most ${mostBytes} bytes`);
}

/** A stream of Node that is left is destroyed, and its connection with it: nobody could be told why. */
const partsOf = (body: Body): AsyncIterable<Uint8Array> | readonly Uint8Array[] =>
  body instanceof Readable ? { [Symbol.asyncIterator]: () => body.iterator({ destroyOnReturn: false }) } : (body ?? []);
