import { badRequest } from "#kernel/model/index.ts";

// The protobuf encoding: https://protobuf.dev/programming-guides/encoding. Groups (wire types 3 and 4) are not in use by any
// Kubernetes kind and are refused.

/** What follows a field's number: a varint, eight bytes, a length and that many bytes, or four bytes. */
export const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** 400: the bytes are not what the encoding allows. `at` counts from the start of the whole body. */
export const malformed = (at: number, problem: string) =>
  badRequest(`the body of the request cannot be read as protobuf: byte ${at}: ${problem}`);

/** Tags, lengths and integers of one body: each costs time, and two bytes are enough for one. Real objects have some thousands. */
export const mostVarints = 500_000;
/** Of one body; each costs ten times as much. The largest definitions known have some 20,000. */
export const mostMessages = 50_000;

/**
 * Reads one message front to back. Never reads past its own end: a length that reaches beyond it is refused before anything is
 * made of it. Every method that reads throws ApiError 400 with the place.
 */
export class WireReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  /** Shared by all messages of a body. */
  readonly #budget: { varints: number; messages: number };
  #at: number;

  constructor(
    bytes: Uint8Array,
    start = 0,
    end = bytes.length,
    budget = { varints: mostVarints, messages: mostMessages },
  ) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#budget = budget;
  }

  /** Offset of the next byte in the whole body. */
  get at(): number {
    return this.#at;
  }

  /** Bytes of this message that were not read yet. */
  get left(): number {
    return this.#end - this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Number and wire type of the next field. */
  tag(): { readonly field: number; readonly type: number } {
    const start = this.#at;
    const short = this.#oneByte();
    if (short !== undefined && short > 7) return { field: short >> 3, type: short & 7 };
    this.#at = start;
    const tag = this.varint();
    const field = tag >> 3n;
    if (field === 0n || field > 0x1fff_ffffn) throw malformed(start, `${field} is no field number`);
    return { field: Number(field), type: Number(tag & 7n) };
  }

  /** Unsigned, at most 64 bits. */
  varint(): bigint {
    const start = this.#at;
    this.#budget.varints -= 1;
    if (this.#budget.varints < 0)
      throw malformed(start, `there are more than ${mostVarints} tags, lengths and integers`);
    // Most varints have one byte, and a bigint per byte is dear.
    const first = this.#byte(start);
    if (first < 0x80) return BigInt(first);
    let value = BigInt(first & 0x7f);
    for (let shift = 7n; shift < 70n; shift += 7n) {
      const byte = this.#byte(start);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value >= 1n << 64n) break;
        return value;
      }
    }
    throw malformed(start, "an integer has more than 64 bits");
  }

  /** Two's complement of 64 bits, of which JSON carries 53: what is beyond is refused, never rounded. */
  integer(): number {
    const start = this.#at;
    const value = BigInt.asIntN(64, this.varint());
    const number = Number(value);
    if (!Number.isSafeInteger(number))
      throw malformed(start, `${value} is outside of the integers that JSON keeps exact`);
    return number;
  }

  /** Eight bytes, little-endian; NaN and infinities are refused, for JSON has none. */
  double(): number {
    const start = this.#at;
    const { buffer, byteOffset } = this.#bytes;
    this.skip(wireType.fixed64);
    const value = new DataView(buffer, byteOffset + start, 8).getFloat64(0, true);
    if (!Number.isFinite(value)) throw malformed(start, `${value} is no number of JSON`);
    return value;
  }

  /** A view into the body, not a copy. */
  bytes(): Uint8Array {
    const { start, end } = this.#extent();
    return this.#bytes.subarray(start, end);
  }

  /** Refused when it is not UTF-8: protobuf says strings are, and replacing what is not would store something nobody sent. */
  string(): string {
    const { start, end } = this.#extent();
    try {
      return decoder.decode(this.#bytes.subarray(start, end));
    } catch {
      throw malformed(start, "a string is not UTF-8");
    }
  }

  /** The message that the next bytes hold. */
  message(): WireReader {
    const { start, end } = this.#extent();
    this.#budget.messages -= 1;
    if (this.#budget.messages < 0) throw malformed(start, `there are more than ${mostMessages} messages`);
    return new WireReader(this.#bytes, start, end, this.#budget);
  }

  /** Passes over a value nobody knows. */
  skip(type: number): void {
    const start = this.#at;
    switch (type) {
      case wireType.varint:
        this.varint();
        return;
      case wireType.fixed64:
        return this.#advance(start, 8);
      case wireType.bytes:
        this.#extent();
        return;
      case wireType.fixed32:
        return this.#advance(start, 4);
      default:
        throw malformed(start, `wire type ${type} is not in use`);
    }
  }

  /** Start and end of what a length announces. Compared before it is converted: a length may have 64 bits. */
  #extent(): { readonly start: number; readonly end: number } {
    const at = this.#at;
    const length = this.#oneByte() ?? this.varint();
    const { left } = this;
    if (length > left) throw malformed(at, `a length of ${length} where ${left} bytes are left`);
    const start = this.#at;
    this.#at = start + Number(length);
    return { start, end: this.#at };
  }

  /** A varint of one byte, which most are: a bigint is dear. Undefined, and nothing read, when it has more. */
  #oneByte(): number | undefined {
    const start = this.#at;
    const first = this.#byte(start);
    this.#budget.varints -= 1;
    if (this.#budget.varints < 0)
      throw malformed(start, `there are more than ${mostVarints} tags, lengths and integers`);
    if (first < 0x80) return first;
    this.#at = start;
    return undefined;
  }

  #byte(start: number): number {
    const byte = this.#at < this.#end ? this.#bytes[this.#at] : undefined;
    if (byte === undefined) throw malformed(start, "the message ends inside a value");
    this.#at++;
    return byte;
  }

  #advance(start: number, length: number): void {
    if (this.#end - start < length) throw malformed(start, "the message ends inside a value");
    this.#at = start + length;
  }
}
