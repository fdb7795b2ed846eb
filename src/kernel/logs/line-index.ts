import { readFile } from "node:fs/promises";
import { codeOf, type Instant } from "#lib/base/index.ts";
import { indexOf } from "./log-files.ts";

/** A place in a log file: records before it, its byte offset, and the time of the record that starts there. */
export interface IndexEntry {
  readonly record: number;
  readonly offset: number;
  readonly at: Instant;
}

/** Records between two entries, at least; entries stand where a chunk of output began. */
export const recordsPerEntry = 256;

const entryBytes = 24;

export function encodeEntry(entry: IndexEntry): Buffer {
  const bytes = Buffer.allocUnsafe(entryBytes);
  bytes.writeDoubleLE(entry.record, 0);
  bytes.writeDoubleLE(entry.offset, 8);
  bytes.writeDoubleLE(entry.at, 16);
  return bytes;
}

/** The entries of a log file that lie within its first `size` bytes; none when it has no index. A torn last entry is left out. */
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

/** Offset of the last entry older than `at`: every record before it is older too. */
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
