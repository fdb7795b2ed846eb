import type { FileHandle } from "node:fs/promises";

// The pages of LMDB's format 2 with 64-bit sizes, as far as one has to know them to follow every reference. Offsets in bytes.

export const pageBytes = 4096;
const headBytes = 24;
const page = { flags: 18, lower: 20 } as const;
const branchPage = 0x01;
const leafPage = 0x02;
/** Of an entry: the halves of its size, or of the page it leads to, then its flags and the length of its key. */
const node = { low: 0, high: 2, flags: 4, keyLength: 6, key: 8 } as const;
const inOwnPages = 0x01;
const isTable = 0x02;
/** In what stands for a table, and for a value in pages of its own. */
const tableRoot = 40;
const ownPageCount = 16;
const noRoot = 0xffff_ffff_ffff_ffffn;

/** A run of pages that something refers to. */
interface Run {
  readonly first: bigint;
  readonly count: bigint;
  readonly isTree: boolean;
}

const tree = (first: bigint): Run => ({ first, count: 1n, isTree: true });

/**
 * Whether everything that the roots lead to lies within the first `size` bytes of the file and looks like what it should be. Reads
 * every page that is in use but those of large values, so it is for files about which there is a doubt.
 */
export async function hasAllPages(file: FileHandle, size: number, roots: readonly bigint[]): Promise<boolean> {
  const end = BigInt(Math.floor(size / pageBytes));
  const waiting = roots.map(tree);
  const bytes = Buffer.alloc(pageBytes);
  // A page is referred to once; more pages than there are mean references in a circle.
  let left = end;
  for (let run = waiting.pop(); run !== undefined; run = waiting.pop()) {
    if (run.first === noRoot) continue;
    if (run.first + run.count > end || left-- === 0n) return false;
    if (!run.isTree) continue;
    await file.read(bytes, 0, pageBytes, Number(run.first) * pageBytes);
    const found = references(bytes);
    if (found === undefined) return false;
    waiting.push(...found);
  }
  return true;
}

/** What a page of a tree refers to; undefined when it is none. */
function references(bytes: Buffer): readonly Run[] | undefined {
  const kind = bytes.readUInt16LE(page.flags) & (branchPage | leafPage);
  const entries = bytes.readUInt16LE(page.lower) / 2;
  if (kind === 0 || headBytes + entries * 2 > pageBytes) return undefined;
  const found: Run[] = [];
  for (let index = 0; index < entries; index++) {
    const at = headBytes + bytes.readUInt16LE(headBytes + index * 2);
    if (at + node.key > pageBytes) return undefined;
    const run = kind === branchPage ? childOf(bytes, at) : valueOf(bytes, at);
    if (run !== undefined) found.push(run);
  }
  return found;
}

const childOf = (bytes: Buffer, at: number): Run =>
  tree(
    BigInt(bytes.readUInt16LE(at + node.low)) +
      (BigInt(bytes.readUInt16LE(at + node.high)) << 16n) +
      (BigInt(bytes.readUInt16LE(at + node.flags)) << 32n),
  );

/** Most values are in the page itself and refer to nothing. */
function valueOf(bytes: Buffer, at: number): Run | undefined {
  const flags = bytes.readUInt16LE(at + node.flags);
  const value = at + node.key + bytes.readUInt16LE(at + node.keyLength);
  if ((flags & inOwnPages) !== 0 && value + ownPageCount + 8 <= pageBytes) {
    const first = bytes.readBigUInt64LE(value);
    return { first, count: bytes.readBigUInt64LE(value + ownPageCount), isTree: false };
  }
  return (flags & isTable) !== 0 && value + tableRoot + 8 <= pageBytes
    ? tree(bytes.readBigUInt64LE(value + tableRoot))
    : undefined;
}
