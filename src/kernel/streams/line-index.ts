import { readFile } from "node:fs/promises";
import { hasCode, type Instant, recover } from "#lib/base/index.ts";
import { indexOf } from "./log-files.ts";

// Makes `since` and numbers of lines cheap in a long file: a search over 24 bytes per 256 records. A log without an
// index, or with a torn one, is read from its start.

export interface IndexEntry {
  /** Lines of the log that end before it, those of removed files included. */
  readonly line: number;
  /** Byte offset, always the start of a record. */
  readonly offset: number;
  /** Time of the record that starts there. */
  readonly at: Instant;
}

/** Least number of records between two entries; entries stand where a chunk began. */
export const recordsPerEntry = 256;

/** Three doubles, little endian: they hold every integer up to 2^53. */
const entryBytes = 24;

export function encodeEntry(entry: IndexEntry): Buffer {
  const bytes = Buffer.allocUnsafe(entryBytes);
  bytes.writeDoubleLE(entry.line, 0);
  bytes.writeDoubleLE(entry.offset, 8);
  bytes.writeDoubleLE(entry.at, 16);
  return bytes;
}

/** The entries of the first `size` bytes of a log file, ascending; none without an index. Skips a torn last one. */
export async function readIndex(file: string, size: number): Promise<readonly IndexEntry[]> {
  const bytes = await readFile(indexOf(file)).catch(recover(hasCode("ENOENT"), Buffer.alloc(0)));
  const entries: IndexEntry[] = [];
  for (let from = 0; from + entryBytes <= bytes.length; from += entryBytes) {
    const offset = bytes.readDoubleLE(from + 8);
    if (offset <= size) entries.push({ line: bytes.readDoubleLE(from), offset, at: bytes.readDoubleLE(from + 16) });
  }
  return entries;
}

/** Offset of the last entry older than `at`, or 0: all records before it are older, unless the clock was set back. */
export function offsetBefore(entries: readonly IndexEntry[], at: Instant): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.at ?? Number.POSITIVE_INFINITY) < at) low = middle + 1;
    else high = middle;
  }
  return entries[low - 1]?.offset ?? 0;
}
