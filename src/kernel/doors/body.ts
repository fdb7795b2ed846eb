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
  /** Returns whether more is wanted. */
  const take = (chunk: Uint8Array): boolean => {
    size += chunk.length;
    if (size <= mostBytes) chunks.push(chunk);
    else chunks.length = 0;
    return size <= mostBytes + mostLetGo;
  };
  try {
    if (body instanceof Readable) await flow(body, take);
    else for await (const chunk of body ?? []) if (!take(chunk)) break;
  } catch (cause) {
    throw new DoorRefusal("incomplete-body", "the body has ended before it was complete", { cause });
  }
  if (size <= mostBytes) return Buffer.concat(chunks);
  // Keeps reading so that the answer arrives.
  if (body instanceof Readable) body.resume();
  throw new DoorRefusal("too-large", `expected ${what} of at most ${mostBytes} bytes`);
}

/** Until the end, or until no more is wanted. An iterator costs as much as the rest of a small request. */
function flow(body: Readable, take: (chunk: Uint8Array) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isDone = false;
    const end = (): void => {
      isDone = true;
      resolve();
    };
    const cut = (): void => {
      if (!isDone) reject(body.errored ?? new Error("the connection was closed"));
    };
    const onData = (chunk: Uint8Array): void => {
      if (take(chunk)) return;
      body.off("data", onData);
      end();
    };
    if (body.readableEnded) return end();
    if (body.destroyed) return cut();
    body.on("end", end).on("error", reject).on("close", cut).on("data", onData);
  });
}
