import type { Writable } from "node:stream";

/**
 * Pending until the stream takes more, or has closed; undefined when it does so now. What is written to a stream that takes nothing any
 * more is dropped.
 */
export function writeTo(stream: Writable, payload: Buffer): Promise<void> | undefined {
  if (!stream.writable || stream.write(payload)) return undefined;
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.once("drain", done);
    stream.once("close", done);
  });
}
