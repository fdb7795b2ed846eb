import { checksum, checksumBytes } from "./checksum.ts";
import { parseKey, previousRevisionOf, recordHead } from "./codec.ts";
import { type Damaged, type DiskWrite, refuse } from "./disk.ts";
import { nameOf, storeCorrupt } from "./errors.ts";

// A row of the log table holds the records of successive revisions; its key is the first of them. One row per record
// would cost more than the object itself.
//
//   (length:4 record checksum:4)*
//
// The checksum is of the length and the record.

const frameBytes = 4 + checksumBytes;

/** Larger rows find no gap when others are dropped. */
export const rowBytes = 64 * 1024;

export interface LogRow {
  readonly first: number;
  readonly records: readonly Buffer[];
}

/** A record larger than a row has one of its own. */
export function logRows(writes: readonly DiskWrite[]): readonly LogRow[] {
  const rows: { first: number; records: Buffer[] }[] = [];
  let [row, bytes] = [rows[0], 0];
  for (const { revision, record, inlined } of writes) {
    const stored = inlined ?? record.bytes;
    bytes += frameBytes + stored.length;
    if (row === undefined || bytes > rowBytes) {
      rows.push((row = { first: revision, records: [] }));
      bytes = frameBytes + stored.length;
    }
    row.records.push(stored);
  }
  return rows;
}

export function encodeRow({ records }: Pick<LogRow, "records">): Buffer {
  let length = 0;
  for (const record of records) length += frameBytes + record.length;
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const record of records) {
    const end = bytes.writeUInt32BE(record.length, at) + record.length;
    bytes.set(record, at + 4);
    at = bytes.writeUInt32BE(checksum(bytes.subarray(at, end)), end);
  }
  return bytes;
}

/** The records of the row that begins with revision `first`, as views. Reading stops at a damaged record. */
export function decodeRow(bytes: Buffer, first: number, damaged: Damaged = refuse): readonly Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 > bytes.length ? bytes.length : at + 4 + bytes.readUInt32BE(at);
    const isSound =
      end + checksumBytes <= bytes.length && bytes.readUInt32BE(end) === checksum(bytes.subarray(at, end));
    if (!isSound) {
      damaged(
        storeCorrupt(`the record of revision ${first + records.length}${ownerOf(bytes.subarray(at + 4))} is damaged`),
      );
      break;
    }
    records.push(bytes.subarray(at + 4, end));
    at = end + checksumBytes;
  }
  return records;
}

function ownerOf(record: Buffer): string {
  if (record.length < recordHead) return "";
  try {
    const key = record.toString("utf8", recordHead, recordHead + record.readUInt16BE(recordHead - 2));
    return `, of ${nameOf(parseKey(key))},`;
  } catch {
    return "";
  }
}

interface IndexedRow {
  readonly first: number;
  readonly last: number;
  /** The latest revision that has a record of this row as its previous state. */
  neededUntil: number;
}

/** Finds rows with only compacted records, none of which a retained event needs as its previous state. */
export class LogIndex {
  #rows: IndexedRow[] = [];

  add({ first, records }: LogRow): void {
    this.#rows.push({ first, last: first + records.length - 1, neededUntil: 0 });
    for (const [index, record] of records.entries()) {
      const previous = previousRevisionOf(record);
      const row = previous === undefined ? undefined : this.#find(previous);
      if (row !== undefined) row.neededUntil = first + index;
    }
  }

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
