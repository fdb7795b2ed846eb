import { previousRevisionOf, recordHead } from "./codec.ts";
import type { DiskWrite } from "./disk.ts";
import { storeCorrupt } from "./errors.ts";

// A row of the log table holds the records of successive revisions; its key is the first of them. A row for each record would
// cost the database more than the object itself.
//
//   one record     record
//   several        (length:4 record)*
//
// A record begins with its type, which is not 0; the length of one that shares a row does, since rows are kept small.

/** Pages of a row lie side by side; larger rows find no gap between others when those are dropped. */
export const rowBytes = 64 * 1024;

/** A row to be written. */
export interface LogRow {
  readonly first: number;
  readonly records: readonly Buffer[];
}

/** The rows of writes with successive revisions. A record that is larger than a row has one of its own. */
export function logRows(writes: readonly DiskWrite[]): readonly LogRow[] {
  const rows: { first: number; records: Buffer[] }[] = [];
  let [row, bytes] = [rows[0], 0];
  for (const { revision, record, inlined } of writes) {
    const stored = inlined ?? record.bytes;
    bytes += 4 + stored.length;
    if (row === undefined || bytes > rowBytes) {
      rows.push((row = { first: revision, records: [] }));
      bytes = 4 + stored.length;
    }
    row.records.push(stored);
  }
  return rows;
}

export function encodeRow({ records }: Pick<LogRow, "records">): Buffer {
  const [only, ...others] = records;
  if (only !== undefined && others.length === 0) return only;
  let length = 0;
  for (const record of records) length += 4 + record.length;
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const record of records) {
    at = bytes.writeUInt32BE(record.length, at);
    bytes.set(record, at);
    at += record.length;
  }
  return bytes;
}

/** The records of a row, in order of revision, as views of it. What they say is for others to judge, but it can be asked. */
export function decodeRow(bytes: Buffer): readonly Buffer[] {
  if (bytes[0] !== 0) return [assertRecord(bytes)];
  const records: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const start = at + 4;
    const end = start > bytes.length ? start : start + bytes.readUInt32BE(at);
    if (end > bytes.length) throw storeCorrupt("a row of the log ends inside a record");
    records.push(assertRecord(bytes.subarray(start, end)));
    at = end;
  }
  return records;
}

function assertRecord(bytes: Buffer): Buffer {
  if (bytes.length < recordHead) throw storeCorrupt(`a log record has only ${bytes.length} bytes`);
  return bytes;
}

interface IndexedRow {
  readonly first: number;
  readonly last: number;
  /** The latest revision that has a record of this row as its previous state. */
  neededUntil: number;
}

/**
 * Which rows a compaction may drop: those whose records are all compacted, and are the previous state of no event that is not. A
 * record that carries its previous state needs no other.
 */
export class LogIndex {
  #rows: IndexedRow[] = [];

  /** Rows come in order of revision. */
  add({ first, records }: LogRow): void {
    this.#rows.push({ first, last: first + records.length - 1, neededUntil: 0 });
    for (const [index, record] of records.entries()) {
      const previous = previousRevisionOf(record);
      const row = previous === undefined ? undefined : this.#find(previous);
      if (row !== undefined) row.neededUntil = first + index;
    }
  }

  /** Keys of the rows that may go when everything up to `compacted` does. */
  droppable(compacted: number): readonly number[] {
    const keys: number[] = [];
    for (const row of this.#rows) {
      if (row.last > compacted) break;
      if (isDroppable(row, compacted)) keys.push(row.first);
    }
    return keys;
  }

  drop(compacted: number): void {
    this.#rows = this.#rows.filter((row) => !isDroppable(row, compacted));
  }

  /** The row that holds a revision; undefined when it is gone. */
  #find(revision: number): IndexedRow | undefined {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#rows[middle]?.last ?? revision) < revision) low = middle + 1;
      else high = middle;
    }
    const row = this.#rows[low];
    return row !== undefined && row.first <= revision ? row : undefined;
  }
}

const isDroppable = ({ last, neededUntil }: IndexedRow, compacted: number): boolean =>
  last <= compacted && neededUntil <= compacted;
