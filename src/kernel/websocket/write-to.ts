import type { Writable } from "node:stream";

/**
 * Pending until the stream takes more or has closed; undefined if it takes more now. Writes to a closed stream are
 * dropped.
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
