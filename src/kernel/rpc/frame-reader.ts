import { frameHeaderBytes } from "./frame-writer.ts";
import { RpcError } from "./status.ts";

const none = Buffer.alloc(0);

/** The messages of whole frames; they share memory. */
export function messagesOf(frames: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < frames.length; ) {
    const from = at + frameHeaderBytes;
    at = from + frames.readUInt32BE(at + 1);
    messages.push(frames.subarray(from, at));
  }
  return messages;
}

/** Takes messages out of bytes in any pieces. */
export class FrameReader {
  readonly #longest: number;
  /** Pieces of the next frame. */
  #pieces: Buffer[] = [];
  #length = 0;
  /** Bytes needed before looking again: a long message is assembled once. */
  #wanted = frameHeaderBytes;
  #messages = 0;

  /** `longest`: of one message. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The messages completed by these bytes; they share memory. Throws for invalid or long frames. */
  push(piece: Buffer): readonly Buffer[] {
    return messagesOf(this.pushFrames(piece));
  }

  /** The same as whole frames, one behind the other. */
  pushFrames(piece: Buffer): Buffer {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#wanted) return none;
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    let at = 0;
    this.#wanted = frameHeaderBytes;
    while (bytes.length - at >= frameHeaderBytes) {
      const length = this.#lengthOf(bytes, at);
      this.#wanted = frameHeaderBytes + length;
      if (bytes.length - at < this.#wanted) break;
      at += this.#wanted;
      this.#messages++;
      this.#wanted = frameHeaderBytes;
    }
    this.#pieces = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#length = bytes.length - at;
    return bytes.subarray(0, at);
  }

  get messages(): number {
    return this.#messages;
  }

  /** A message has begun. */
  get isInside(): boolean {
    return this.#length > 0;
  }

  #lengthOf(bytes: Buffer, at: number): number {
    if (bytes[at] !== 0) throw new RpcError("UNIMPLEMENTED", "compressed messages are not taken");
    const length = bytes.readUInt32BE(at + 1);
    if (length <= this.#longest) return length;
    throw new RpcError("RESOURCE_EXHAUSTED", `expected messages of at most ${this.#longest} bytes, found ${length}`);
  }
}

/** Counts messages in bytes in any pieces, without keeping them. */
export class FrameCounter {
  #messages = 0;
  /** Bytes of the header so far, and the length they say. */
  #header = 0;
  #length = 0;

  get messages(): number {
    return this.#messages;
  }

  /** A message has begun. */
  get isInside(): boolean {
    return this.#header > 0;
  }

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length; ) {
      if (this.#header < frameHeaderBytes) {
        if (this.#header > 0) this.#length = this.#length * 256 + (piece[at] ?? 0);
        this.#header++;
        at++;
      } else {
        const taken = Math.min(this.#length, piece.length - at);
        this.#length -= taken;
        at += taken;
      }
      if (this.#header < frameHeaderBytes || this.#length > 0) continue;
      this.#header = 0;
      this.#messages++;
    }
  }
}

/** A field of a message: a number, or bytes. Readers skip other types. */
export interface Field {
  readonly number: number;
  /** Of a varint; inexact beyond 2^53. */
  readonly value: number;
  /** Of texts and nested messages. */
  readonly bytes: Buffer;
}

/** The fields of a message in order. Throws INTERNAL for invalid bytes. */
export function* fieldsOf(message: Buffer): Generator<Field, void> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; at < message.length; scale *= 128) {
      const byte = message[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      if (scale > 2 ** 63) break;
    }
    throw new RpcError("INTERNAL", "the message ends in the middle of a number");
  };
  while (at < message.length) {
    const key = varint();
    const [number, type] = [Math.floor(key / 8), key & 7];
    if (type === 0) yield { number, value: varint(), bytes: none };
    else if (type === 2) {
      const end = varint() + at;
      if (end > message.length) throw new RpcError("INTERNAL", "the message ends in the middle of a field");
      yield { number, value: 0, bytes: message.subarray(at, end) };
      at = end;
    } else if (type === 1 || type === 5) at += type === 1 ? 8 : 4;
    else throw new RpcError("INTERNAL", `the message has a field of the type ${type}`);
  }
}
