import { type FileHandle, open } from "node:fs/promises";
import { hasCode, recover } from "#lib/base/index.ts";
import { PageWalk, pageBytes } from "./database-pages.ts";
import { storeCorrupt } from "./errors.ts";

// LMDB maps the file, so a damaged one would kill the process. Check it first.

/** Offsets in a meta page of LMDB's format 2 with 64-bit sizes, in bytes. */
const metaOffset = {
  flags: 18,
  magic: 24,
  version: 28,
  address: 32,
  pageSize: 48,
  freeTable: 48,
  freeFlags: 52,
  mainTable: 96,
  mainFlags: 100,
  lastPage: 144,
  transaction: 152,
} as const;
const metaPageFlag = 0x08;
const magic = 0xbeefc0de;
const version = 2;
/** Flags of the free page table: integer keys, and a file without a directory of its own. */
const freeFlags = 0x4008;
const tableBytes = 48;
const mostMissing = 2 ** 30;

/** Throws `store-corrupt` for other files. A file of zeros is empty: a power cut during creation leaves one. */
export async function prepareDatabaseFile(path: string): Promise<"absent" | "empty" | "present"> {
  const file = await openExisting(path);
  if (file === undefined) return "absent";
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(2 * pageBytes);
    await file.read(head, 0, head.length, 0);
    if (size <= head.length && head.every((byte) => byte === 0)) return "empty";
    assertMeta(head.subarray(0, pageBytes), path);
    assertMeta(head.subarray(pageBytes), path);
    await complete(file, path, size, head);
    return "present";
  } finally {
    await file.close();
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  return await open(path, "r+").catch(recover(hasCode("ENOENT"), undefined));
}

function assertMeta(page: Buffer, path: string): void {
  const isMeta =
    (page.readUInt16LE(metaOffset.flags) & metaPageFlag) !== 0 &&
    page.readUInt32LE(metaOffset.magic) === magic &&
    page.readUInt32LE(metaOffset.version) === version &&
    page.readBigUInt64LE(metaOffset.address) === 0n &&
    page.readUInt32LE(metaOffset.pageSize) === pageBytes &&
    page.readUInt16LE(metaOffset.freeFlags) === freeFlags &&
    page.readUInt16LE(metaOffset.mainFlags) === 0;
  if (!isMeta) throw storeCorrupt(`${path} is not a database of this program`);
}

/** Tells missing free pages at the end, which it fills with zeros, from a truncated file. */
async function complete(file: FileHandle, path: string, size: number, head: Buffer): Promise<void> {
  const pages = [head.subarray(0, pageBytes), head.subarray(pageBytes)];
  const newest = pages.reduce((a, b) =>
    a.readBigUInt64LE(metaOffset.transaction) > b.readBigUInt64LE(metaOffset.transaction) ? a : b,
  );
  const wanted = (Number(newest.readBigUInt64LE(metaOffset.lastPage)) + 1) * pageBytes;
  if (wanted > size + mostMissing) throw storeCorrupt(`${path} was cut short`);
  const { fd } = file;
  const transaction = newest.readBigUInt64LE(metaOffset.transaction);
  const walk = new PageWalk(fd, Math.floor(Math.min(size, wanted) / pageBytes), transaction);
  for (const at of [metaOffset.freeTable, metaOffset.mainTable]) walk.table(newest.subarray(at, at + tableBytes));
  if (size < wanted) await file.truncate(wanted);
}
