import { badRequest } from "#kernel/model/index.ts";

// protobuf.dev/programming-guides/encoding. Refuses groups (wire types 3 and 4), which Kubernetes does not use.

export const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** 400. `at` counts from the start of the body. */
export const malformed = (at: number, problem: string) =>
  badRequest(`the body of the request cannot be read as protobuf: byte ${at}: ${problem}`);

/** Tags, lengths and integers of one body. Real objects have some thousands. */
export const mostVarints = 500_000;
/** Of one body. The largest known definitions have some 20,000. */
export const mostMessages = 50_000;

/** Reads one message without reading past its end. Throws ApiError 400 with the position. */
export class WireReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
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

  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

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

  varint(): bigint {
    const start = this.#at;
    this.#budget.varints -= 1;
    if (this.#budget.varints < 0)
      throw malformed(start, `there are more than ${mostVarints} tags, lengths and integers`);
    // Fast path without a bigint per byte.
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

  /** Numbers beyond the 53 bits of JSON are refused. */
  integer(): number {
    const start = this.#at;
    const value = BigInt.asIntN(64, this.varint());
    const number = Number(value);
    if (!Number.isSafeInteger(number))
      throw malformed(start, `${value} is outside of the integers that JSON keeps exact`);
    return number;
  }

  /** Little-endian; NaN and infinities are refused. */
  double(): number {
    const start = this.#at;
    const { buffer, byteOffset } = this.#bytes;
    this.skip(wireType.fixed64);
    const value = new DataView(buffer, byteOffset + start, 8).getFloat64(0, true);
    if (!Number.isFinite(value)) throw malformed(start, `${value} is no number of JSON`);
    return value;
  }

  bytes(): Uint8Array {
    const { start, end } = this.#extent();
    return this.#bytes.subarray(start, end);
  }

  /** Refuses invalid UTF-8 instead of replacing it. */
  string(): string {
    const { start, end } = this.#extent();
    try {
      return decoder.decode(this.#bytes.subarray(start, end));
    } catch {
      throw malformed(start, "a string is not UTF-8");
    }
  }

  message(): WireReader {
    const { start, end } = this.#extent();
    this.#budget.messages -= 1;
    if (this.#budget.messages < 0) throw malformed(start, `there are more than ${mostMessages} messages`);
    return new WireReader(this.#bytes, start, end, this.#budget);
  }

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

  /** Compared before it is converted: a length may have 64 bits. */
  #extent(): { readonly start: number; readonly end: number } {
    const at = this.#at;
    const length = this.#oneByte() ?? this.varint();
    const { left } = this;
    if (length > left) throw malformed(at, `a length of ${length} where ${left} bytes are left`);
    const start = this.#at;
    this.#at = start + Number(length);
    return { start, end: this.#at };
  }

  /** A varint of one byte; undefined, and nothing read, when longer. */
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
