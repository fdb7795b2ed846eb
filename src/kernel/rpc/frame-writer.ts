import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

// Bytes of protobuf and of gRPC's frames, where messages are many and of one simple shape.

/** What a frame has before its message: not compressed, and the length. */
export const frameHeaderBytes = 5;

/**
 * A buffer that messages are written into, one after the other. Its users know how long they get at most: nothing is checked.
 */
export class FrameWriter {
  readonly #bytes: Buffer;
  #at = 0;
  #frame = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  /** A message begins. */
  begin(): void {
    this.#frame = this.#at;
    this.#at += frameHeaderBytes;
  }

  /** It ends. */
  end(): void {
    this.#bytes[this.#frame] = 0;
    this.#bytes.writeUInt32BE(this.#at - this.#frame - frameHeaderBytes, this.#frame + 1);
  }

  /** A field of a whole number that is not negative; 0 is left out, as protobuf has it. */
  uint(field: number, value: number): void {
    if (value === 0) return;
    this.#bytes[this.#at++] = field << 3;
    this.varint(value);
  }

  /** A field of text or of a message within. */
  bytes(field: number, value: Buffer, from = 0, to = value.length): void {
    if (to <= from) return;
    this.#bytes[this.#at++] = (field << 3) | 2;
    this.varint(to - from);
    this.#at += value.copy(this.#bytes, this.#at, from, to);
  }

  /** Seven bits a byte, the lowest first. Numbers of more than 32 bits cost divisions. */
  varint(value: number): void {
    let rest = value;
    for (; rest > 0x7fff_ffff; rest = Math.floor(rest / 128)) this.#bytes[this.#at++] = (rest % 128) | 0x80;
    for (; rest > 127; rest >>>= 7) this.#bytes[this.#at++] = (rest & 127) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  /** What was written. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }
}

/** The frame of one message. */
export function frameOf<O extends DescMessage>(output: O, message: MessageInitShape<O>): Buffer {
  const bytes = toBinary(output, create(output, message));
  const frame = Buffer.allocUnsafe(frameHeaderBytes + bytes.length);
  frame[0] = 0;
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, frameHeaderBytes);
  return frame;
}
