import type { LogStream } from "#kernel/streams/index.ts";

// Output of a container without a terminal comes in frames, as the Engine API describes at "Attach to a container":
//
//     byte 0        1 stdout, 2 stderr (0 is stdin, which nobody attaches here)
//     bytes 1-3     0
//     bytes 4-7     length of the payload, big-endian
//     then          the payload

const headerLength = 8;

/** The engine sends at most 32 KiB. */
const longestFrame = 16 * 1024 * 1024;

/** Cuts a stream into frames, wherever chunks end. Holds one frame and chunk at most. Skips empty frames. */
export class FrameReader {
  readonly #onFrame: (stream: LogStream, payload: Buffer) => void;
  #held: Buffer = Buffer.alloc(0);

  constructor(onFrame: (stream: LogStream, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  /** Throws for other bytes. The chunk may be kept. */
  push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    while (rest.length >= headerLength) {
      const length = rest.readUInt32BE(4);
      if (length > longestFrame || (rest[0] ?? 0) > 2) throw new Error("the engine's output is not in frames");
      if (rest.length < headerLength + length) break;
      const payload = rest.subarray(headerLength, headerLength + length);
      if (length > 0) this.#onFrame(rest[0] === 2 ? "stderr" : "stdout", payload);
      rest = rest.subarray(headerLength + length);
    }
    this.#held = rest;
  }
}
