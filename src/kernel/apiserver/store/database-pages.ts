import { readSync } from "node:fs";
import { storeCorrupt } from "./errors.ts";

// LMDB's format 2 with 64-bit sizes, as far as references need it. Offsets in bytes.

export const pageBytes = 4096;
const headBytes = 24;
const page = { number: 0, transaction: 8, flags: 18, lower: 20, upper: 22, count: 20 } as const;
const kind = { branch: 1, leaf: 2, overflow: 4 } as const;
/** An entry: the size of its value or its child page, flags, and the length of its key. */
const node = { size: 0, flags: 4, keyLength: 6, key: 8 } as const;
const place = { here: 0, ownPages: 1, table: 2 } as const;
const ownPageCount = 16;
const ownPageBytes = 24;
const table = { flags: 4, depth: 6, branches: 8, leaves: 16, overflow: 24, entries: 32, root: 40, bytes: 48 } as const;
const integerKeys = 0x08;
const noRoot = 0xffff_ffff_ffff_ffffn;

interface Tally {
  branches: number;
  leaves: number;
  overflow: number;
  entries: number;
  /** The next key must be greater; or equal if `mayEqual`, after a branch's key. */
  least: Buffer | undefined;
  mayEqual: boolean;
  readonly compare: (a: Buffer, b: Buffer) => number;
}

/** Checks each used page's place, references, order and counts, as LMDB does not. Throws `store-corrupt`. */
export class PageWalk {
  readonly #file: number;
  readonly #pages: number;
  readonly #transaction: bigint;
  readonly #met: Uint8Array;

  /** `file` is open; `pages` may be in use, written by transactions up to `transaction`. */
  constructor(file: number, pages: number, transaction: bigint) {
    this.#file = file;
    this.#pages = pages;
    this.#transaction = transaction;
    this.#met = new Uint8Array(pages);
  }

  table(record: Buffer): void {
    const compare = (record.readUInt16LE(table.flags) & integerKeys) === 0 ? compareBytes : compareIntegers;
    const tally = { branches: 0, leaves: 0, overflow: 0, entries: 0, least: undefined, mayEqual: false, compare };
    const root = record.readBigUInt64LE(table.root);
    const depth = record.readUInt16LE(table.depth);
    if ((root === noRoot) !== (depth === 0)) throw damaged(Number(root));
    if (depth > 0) this.#tree(Number(root), depth, tally);
    for (const name of ["branches", "leaves", "overflow", "entries"] as const)
      if (record.readBigUInt64LE(table[name]) !== BigInt(tally[name])) throw damaged(Number(root));
  }

  #tree(number: number, depth: number, tally: Tally): void {
    const bytes = this.#read(number, 1, depth > 1 ? kind.branch : kind.leaf);
    if (depth > 1) tally.branches++;
    else tally.leaves++;
    const [lower, upper] = [bytes.readUInt16LE(page.lower), bytes.readUInt16LE(page.upper)];
    if (lower === 0 || lower % 2 !== 0 || lower > upper || headBytes + upper > pageBytes) throw damaged(number);
    for (let index = 0; index < lower; index += 2) {
      const at = headBytes + bytes.readUInt16LE(headBytes + index);
      const key = at + node.key;
      const keyEnd = key > pageBytes ? key : key + bytes.readUInt16LE(at + node.keyLength);
      if (at < headBytes + upper || keyEnd > pageBytes) throw damaged(number);
      // A branch's first entry needs no key.
      const isFirstChild = depth > 1 && index === 0;
      if (!isFirstChild && !isNext(tally, bytes.subarray(key, keyEnd), depth > 1)) throw damaged(number);
      if (depth > 1) this.#tree(childOf(bytes, at), depth - 1, tally);
      else if (!this.#value(bytes, at, keyEnd, tally)) throw damaged(number);
    }
  }

  #value(bytes: Buffer, at: number, start: number, tally: Tally): boolean {
    tally.entries++;
    const [flags, size] = [bytes.readUInt16LE(at + node.flags), bytes.readUInt32LE(at + node.size)];
    if (flags === place.here) return start + size <= pageBytes;
    if (flags === place.table && size === table.bytes && start + size <= pageBytes) {
      this.table(bytes.subarray(start, start + size));
      return true;
    }
    if (flags !== place.ownPages || start + ownPageBytes > pageBytes) return false;
    const count = Number(bytes.readBigUInt64LE(start + ownPageCount));
    // A value that shrinks within its transaction keeps all its pages.
    if (count < Math.ceil((headBytes + size) / pageBytes)) return false;
    tally.overflow += count;
    const head = this.#read(Number(bytes.readBigUInt64LE(start)), count, kind.overflow);
    return head.readUInt32LE(page.count) === count;
  }

  #read(number: number, count: number, wanted: number): Buffer {
    if (number < 2 || number + count > this.#pages) throw damaged(number);
    const bytes = Buffer.allocUnsafe(pageBytes);
    readSync(this.#file, bytes, 0, pageBytes, number * pageBytes);
    const isWanted =
      bytes.readBigUInt64LE(page.number) === BigInt(number) &&
      // LMDB rewrites a page of its current transaction in place.
      bytes.readBigUInt64LE(page.transaction) <= this.#transaction &&
      bytes.readUInt16LE(page.flags) === wanted;
    if (!isWanted || this.#met.subarray(number, number + count).some((met) => met === 1)) throw damaged(number);
    this.#met.fill(1, number, number + count);
    return bytes;
  }
}

const damaged = (number: number): Error => storeCorrupt(`page ${number} of its file is damaged or missing`);

function isNext(tally: Tally, key: Buffer, leads: boolean): boolean {
  const { least, mayEqual, compare } = tally;
  const order = least === undefined ? 1 : compare(key, least);
  [tally.least, tally.mayEqual] = [key, leads];
  return order > 0 || (order === 0 && mayEqual);
}

const compareBytes = (a: Buffer, b: Buffer): number => a.compare(b);

/** A key of another length compares as too small. */
const compareIntegers = (a: Buffer, b: Buffer): number =>
  a.length === 8 && b.length === 8 ? Number(a.readBigUInt64LE() - b.readBigUInt64LE()) : -1;

const childOf = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at + node.size) + bytes.readUInt16LE(at + node.flags) * 2 ** 32;
