import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

// Protobuf and gRPC frames for many simple messages.

/** Not compressed, and the length. */
export const frameHeaderBytes = 5;

/** A buffer for messages of known maximum size: nothing is checked. */
export class FrameWriter {
  readonly #bytes: Buffer;
  #at = 0;
  #frame = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  begin(): void {
    this.#frame = this.#at;
    this.#at += frameHeaderBytes;
  }

  end(): void {
    this.#bytes[this.#frame] = 0;
    this.#bytes.writeUInt32BE(this.#at - this.#frame - frameHeaderBytes, this.#frame + 1);
  }

  /** A non-negative integer; 0 is omitted, as in protobuf. */
  uint(field: number, value: number): void {
    if (value === 0) return;
    this.#bytes[this.#at++] = field << 3;
    this.varint(value);
  }

  /** A text or nested message. */
  bytes(field: number, value: Buffer, from = 0, to = value.length): void {
    if (to <= from) return;
    this.#bytes[this.#at++] = (field << 3) | 2;
    this.varint(to - from);
    this.#at += value.copy(this.#bytes, this.#at, from, to);
  }

  /** Seven bits a byte, the lowest first. More than 32 bits cost divisions. */
  varint(value: number): void {
    let rest = value;
    for (; rest > 0x7fff_ffff; rest = Math.floor(rest / 128)) this.#bytes[this.#at++] = (rest % 128) | 0x80;
    for (; rest > 127; rest >>>= 7) this.#bytes[this.#at++] = (rest & 127) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

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
