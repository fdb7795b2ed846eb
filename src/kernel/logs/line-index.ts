import { readFile } from "node:fs/promises";
import { codeOf, type Instant } from "#lib/base/index.ts";
import { indexOf } from "./log-files.ts";

// The index makes `since` cheap in a long file: a binary search over 24 bytes per 256 records instead of a read of all of them.
// It is a help and never the truth: a log without one, or with a torn one, is read from its start.

/** A place in a log file. */
export interface IndexEntry {
  /** Records before it, as far as one writer has written them; a writer that continues a file counts from 0 again. */
  readonly record: number;
  /** Byte offset, always the start of a record. */
  readonly offset: number;
  /** Time of the record that starts there. */
  readonly at: Instant;
}

/** Records between two entries, at least; entries stand where a chunk of output began. */
export const recordsPerEntry = 256;

/** Three doubles, little endian: they hold every integer up to 2^53, and need no decoding of big integers. */
const entryBytes = 24;

export function encodeEntry(entry: IndexEntry): Buffer {
  const bytes = Buffer.allocUnsafe(entryBytes);
  bytes.writeDoubleLE(entry.record, 0);
  bytes.writeDoubleLE(entry.offset, 8);
  bytes.writeDoubleLE(entry.at, 16);
  return bytes;
}

/**
 * The entries of a log file that lie within its first `size` bytes, ascending; none when it has no index. A torn last entry is
 * left out. Reads the whole index: 24 bytes per 10 KiB of short lines at most, 25 KiB for a file of 10 MiB.
 */
export async function readIndex(file: string, size: number): Promise<readonly IndexEntry[]> {
  const bytes = await readFile(indexOf(file)).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return Buffer.alloc(0);
    throw thrown;
  });
  const entries: IndexEntry[] = [];
  for (let from = 0; from + entryBytes <= bytes.length; from += entryBytes) {
    const offset = bytes.readDoubleLE(from + 8);
    if (offset <= size) entries.push({ record: bytes.readDoubleLE(from), offset, at: bytes.readDoubleLE(from + 16) });
  }
  return entries;
}

/**
 * Offset of the last entry older than `at`, 0 without one: every record before it is older too. O(log entries). Entries must
 * ascend in time; where an administrator has set the clock back, the place found may lie before or after the best one.
 */
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
