// Reading a value costs more for each thing in it than for each byte, and all of it is done in one go. So what is too
// much is found while the bytes still come, a piece at a time, before anything is made of them.

/** What a JSON text may consist of, whatever its length. */
export interface JsonShapeLimits {
  /** Of objects and arrays in each other. */
  readonly maxDepth: number;
  /** Objects, arrays and scalars together. */
  readonly maxValues: number;
  /** Of one object: with many thousands of keys each step costs a multiple. */
  readonly maxMembers: number;
}

/** The limit that a text has gone beyond. */
export type JsonExcess = keyof JsonShapeLimits;

const quote = 0x22;
const backslash = 0x5c;

/** The bytes that change a count. The rest outside of strings is skipped at a nanosecond each. */
const counted = new Uint8Array(256);
for (const mark of ',"{}[]') counted[mark.charCodeAt(0)] = 1;

/**
 * Counts what a JSON text in UTF-8 consists of, piece by piece, wherever it is cut. It judges nothing else: what is no
 * JSON is counted in some way, and refused by whoever reads it. Linear time, constant memory.
 */
export class JsonShape {
  readonly #limits: JsonShapeLimits;
  /** Members so far of the open collections, the outermost first; those of arrays are counted but have no limit. */
  readonly #members: Uint32Array;
  readonly #isObject: Uint8Array;
  #depth = 0;
  #values = 1;
  #inString = false;
  #isEscaped = false;

  constructor(limits: JsonShapeLimits) {
    this.#limits = limits;
    this.#members = new Uint32Array(limits.maxDepth + 1);
    this.#isObject = new Uint8Array(limits.maxDepth + 1);
  }

  /** Takes the next piece; the limit it goes beyond, or undefined. After an excess the counts mean nothing any more. */
  take(piece: Uint8Array): JsonExcess | undefined {
    let at = 0;
    while (at < piece.length) {
      if (this.#inString) {
        at = this.#skipString(piece, at);
        continue;
      }
      at = skipUncounted(piece, at);
      const excess = at < piece.length ? this.#count(piece[at] ?? 0) : undefined;
      if (excess !== undefined) return excess;
      at += 1;
    }
    return undefined;
  }

  #count(byte: number): JsonExcess | undefined {
    switch (byte) {
      case quote:
        this.#inString = true;
        return undefined;
      case 0x2c: // A comma: one more in the collection around it.
        return this.#addValue();
      case 0x7b: // {
      case 0x5b: // [
        return this.#open(byte === 0x7b);
      case 0x7d: // }
      case 0x5d: // ]
        this.#depth = Math.max(0, this.#depth - 1);
        return undefined;
      default:
        return undefined;
    }
  }

  /** The first thing in it is counted with its bracket, so that an empty collection counts twice. */
  #open(isObject: boolean): JsonExcess | undefined {
    this.#depth += 1;
    if (this.#depth > this.#limits.maxDepth) return "maxDepth";
    this.#members[this.#depth] = 0;
    this.#isObject[this.#depth] = isObject ? 1 : 0;
    return this.#addValue();
  }

  #addValue(): JsonExcess | undefined {
    this.#values += 1;
    if (this.#values > this.#limits.maxValues) return "maxValues";
    const members = (this.#members[this.#depth] ?? 0) + 1;
    this.#members[this.#depth] = members;
    return members > this.#limits.maxMembers && this.#isObject[this.#depth] === 1 ? "maxMembers" : undefined;
  }

  /** Where the string ended, or the end of the piece. Searching for quotes beats looking at each byte. */
  #skipString(piece: Uint8Array, start: number): number {
    const from = this.#isEscaped ? start + 1 : start;
    let end = piece.indexOf(quote, from);
    while (end !== -1 && endsEscaped(piece, from, end)) end = piece.indexOf(quote, end + 1);
    this.#inString = end === -1;
    this.#isEscaped = end === -1 && endsEscaped(piece, from, piece.length);
    return end === -1 ? piece.length : end + 1;
  }
}

/** Where the next byte is that changes a count, or the end of the piece. */
function skipUncounted(piece: Uint8Array, start: number): number {
  let at = start;
  while (at < piece.length && counted[piece[at] ?? 0] === 0) at += 1;
  return at;
}

/** Whether what comes at `end` is escaped: an odd number of backslashes stands before it. */
function endsEscaped(piece: Uint8Array, from: number, end: number): boolean {
  let first = end;
  while (first > from && piece[first - 1] === backslash) first -= 1;
  return (end - first) % 2 === 1;
}
