import { type FileHandle, open } from "node:fs/promises";
import { type Instant, parseInstant } from "#lib/base/index.ts";
import { listLogFiles } from "./log-files.ts";
import { bytesBefore, isLossMark } from "./loss-mark.ts";
import { orClosed } from "./open-file.ts";
import { flagOffset, fullFlag, type LogStream, newline, prefixLength, streamOffset, timeLength } from "./record.ts";

// Reads a log piece by piece for a sender that resumes. A place is found again by the bytes before it, which each file
// records in its mark; and, if the log was written anew from another copy, by how much each stream had printed, because
// records may be cut differently then. The agent's own lines are not counted: the other copy lacks them.

/** How far a log was read. */
export interface FeedPlace {
  /** Of the log: changes when it is written anew. */
  readonly writing: string;
  /** Bytes of the log before it, dropped ones included. */
  readonly at: number;
  /** Bytes of program output that were read. */
  readonly printed: Readonly<Record<LogStream, number>>;
  /** Bytes to come that were read before the log was written anew. */
  readonly owed: Readonly<Record<LogStream, number>>;
}

const none: Readonly<Record<LogStream, number>> = { stdout: 0, stderr: 0 };
export const feedStart: FeedPlace = { writing: "", at: 0, printed: none, owed: none };

/** Output of one stream and one time. */
export interface FeedChunk {
  readonly stream: LogStream;
  readonly at: Instant;
  readonly data: Buffer;
  /** Where to continue behind it. */
  readonly place: FeedPlace;
}

/** Only a single record may be larger. */
const chunkBytes = 64 * 1024;
/** Lines of an agent or of this log itself. */
const ownBeginning = Buffer.from("slipway: ");

/**
 * The output after a place, up to so many bytes of records. If the next part was dropped, it is what is left, with the
 * line that says how much is missing. `writing` is that of the present log, whose rotation marks losses.
 */
export async function readFeed(
  path: string,
  place: FeedPlace,
  writing: string,
  maxBytes: number,
): Promise<readonly FeedChunk[]> {
  const isFirst = place === feedStart || place.at === 0;
  const isAnew = !isFirst && place.writing !== writing;
  const files = await openFiles(path);
  try {
    const oldest = files[0]?.before ?? 0;
    // In a log that was written anew and is cut again, the place cannot be found.
    const from = isAnew || place.at < oldest ? oldest : place.at;
    const owed = isAnew && oldest === 0 ? place.printed : place.owed;
    const reading = new Reading({ writing, at: from, printed: place.printed, owed: from > 0 && isAnew ? none : owed });
    const isCut = from > place.at || (isAnew && oldest > 0);
    for (const { handle, before, size } of files) {
      if (reading.bytes >= maxBytes || before > reading.at) break;
      if (before + size <= reading.at) continue;
      const offset = reading.at - before;
      const length = Math.min(Math.max(maxBytes - reading.bytes, longestRecord), size - offset);
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, offset);
      reading.take(buffer.subarray(0, bytesRead), isCut && before === oldest);
      if (reading.at < before + size) break;
    }
    return reading.chunks();
  } finally {
    for (const { handle } of files) await handle.close();
  }
}

/** The most that one write can hold: at least one record. */
const longestRecord = 256 * 1024;

interface OpenFile {
  readonly handle: FileHandle;
  /** Bytes of the log before it. */
  readonly before: number;
  readonly size: number;
}

/** Oldest first. Examined after opening, so that a rename does not matter. */
async function openFiles(path: string): Promise<readonly OpenFile[]> {
  const files = new Map<number, OpenFile>();
  try {
    for (const file of await listLogFiles(path)) {
      const handle = await open(file.path, "r").catch(() => undefined);
      if (handle === undefined) continue;
      const { size } = await orClosed(handle, () => handle.stat());
      const before = await orClosed(handle, () => bytesBefore(handle));
      // The same file by two names, if it was renamed in between.
      await files.get(before)?.handle.close();
      files.set(before, { handle, before, size });
    }
  } catch (thrown) {
    for (const { handle } of files.values()) await handle.close();
    throw thrown;
  }
  return [...files.values()].sort((a, b) => a.before - b.before);
}

class Reading {
  readonly #writing: string;
  readonly #printed: Record<LogStream, number>;
  readonly #owed: Record<LogStream, number>;
  readonly #start: number;
  readonly #chunks: {
    stream: LogStream;
    at: Instant;
    pieces: Buffer[];
    size: number;
    prefix: Buffer;
    place: FeedPlace;
  }[] = [];
  /** Bytes of the log before the next record. */
  at: number;

  constructor({ writing, at, printed, owed }: FeedPlace) {
    this.#writing = writing;
    this.#printed = { ...printed };
    this.#owed = { ...owed };
    this.#start = at;
    this.at = at;
  }

  get bytes(): number {
    return this.at - this.#start;
  }

  /** Takes whole records. Loss marks are kept for readers who have missed something. */
  take(bytes: Buffer, keepsMark: boolean): void {
    let from = 0;
    for (let end = bytes.indexOf(newline) + 1; end > 0; end = bytes.indexOf(newline, from) + 1) {
      const record = bytes.subarray(from, end);
      this.at += record.length;
      if (keepsMark || !isLossMark(record)) this.#record(record);
      from = end;
    }
  }

  #record(record: Buffer): void {
    if (record.length <= prefixLength) return;
    const stream = record.toString("latin1", streamOffset, streamOffset + 6) === "stderr" ? "stderr" : "stdout";
    let data = record.subarray(prefixLength, record[flagOffset] === fullFlag ? record.length : record.length - 1);
    if (stream === "stdout" && data.subarray(0, ownBeginning.length).equals(ownBeginning)) {
      if (this.#owed.stdout > 0 || this.#owed.stderr > 0) return;
    } else {
      const known = Math.min(data.length, this.#owed[stream]);
      this.#owed[stream] -= known;
      data = data.subarray(known);
      this.#printed[stream] += data.length;
    }
    if (data.length > 0) this.#add(record.subarray(0, flagOffset), stream, data);
  }

  #add(prefix: Buffer, stream: LogStream, data: Buffer): void {
    const place = { writing: this.#writing, at: this.at, printed: { ...this.#printed }, owed: { ...this.#owed } };
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.size + data.length <= chunkBytes && last.prefix.equals(prefix)) {
      last.pieces.push(data);
      last.size += data.length;
      last.place = place;
      return;
    }
    const at = parseInstant(prefix.toString("latin1", 0, timeLength).replace(/(\.\d{3})\d*/, "$1")) ?? 0;
    this.#chunks.push({ stream, at, pieces: [data], size: data.length, prefix, place });
  }

  chunks(): readonly FeedChunk[] {
    return this.#chunks.map(({ stream, at, pieces, place }) => ({ stream, at, place, data: Buffer.concat(pieces) }));
  }
}
