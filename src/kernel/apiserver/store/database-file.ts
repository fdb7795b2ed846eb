import { type FileHandle, open, rm } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";
import { hasAllPages, pageBytes } from "./database-pages.ts";
import { storeCorrupt } from "./errors.ts";

// LMDB maps the file into memory: a file that is not a database, or that was cut short, would end the process by a signal
// instead of an error. So its two meta pages are looked at first.

/** Offsets in a meta page of LMDB's format 2 with 64-bit sizes, in bytes. */
const metaOffset = {
  flags: 18,
  magic: 24,
  version: 28,
  pageSize: 48,
  freeRoot: 88,
  mainRoot: 136,
  lastPage: 144,
  transaction: 152,
} as const;
const metaPageFlag = 0x08;
const magic = 0xbeefc0de;
const version = 2;

/**
 * Makes sure that LMDB can open what is at `path`, and says whether there is anything. A file that is empty or all zeros is
 * removed: that is what a power cut during creation leaves, before anything was acknowledged. Throws `store-corrupt` for
 * anything else than a database.
 */
export async function prepareDatabaseFile(path: string): Promise<"absent" | "present"> {
  const file = await openExisting(path);
  if (file === undefined) return "absent";
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(2 * pageBytes);
    await file.read(head, 0, head.length, 0);
    if (size <= head.length && head.every((byte) => byte === 0)) {
      await rm(path);
      return "absent";
    }
    assertMeta(head.subarray(0, pageBytes), path);
    assertMeta(head.subarray(pageBytes), path);
    await complete(file, path, size, head);
    return "present";
  } finally {
    await file.close();
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r+");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

function assertMeta(page: Buffer, path: string): void {
  const isMeta =
    (page.readUInt16LE(metaOffset.flags) & metaPageFlag) !== 0 &&
    page.readUInt32LE(metaOffset.magic) === magic &&
    page.readUInt32LE(metaOffset.version) === version &&
    page.readUInt32LE(metaOffset.pageSize) === pageBytes;
  if (!isMeta) throw storeCorrupt(`${path} is not a database of this program`);
}

/**
 * A file may rightly be shorter than its last page, when pages at its end are free; but one that was cut short looks the same, and
 * the library ends the process on its way through pages that are not there. Free pages get zeros.
 */
async function complete(file: FileHandle, path: string, size: number, head: Buffer): Promise<void> {
  const pages = [head.subarray(0, pageBytes), head.subarray(pageBytes)];
  const newest = pages.reduce((a, b) =>
    a.readBigUInt64LE(metaOffset.transaction) > b.readBigUInt64LE(metaOffset.transaction) ? a : b,
  );
  const wanted = (Number(newest.readBigUInt64LE(metaOffset.lastPage)) + 1) * pageBytes;
  if (size >= wanted) return;
  const roots = [metaOffset.mainRoot, metaOffset.freeRoot].map((at) => newest.readBigUInt64LE(at));
  if (!(await hasAllPages(file, size, roots))) throw storeCorrupt(`${path} was cut short`);
  await file.truncate(wanted);
}
