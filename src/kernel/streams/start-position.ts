import { open } from "node:fs/promises";
import type { Instant } from "#lib/base/index.ts";
import { offsetBefore, readIndex } from "./line-index.ts";
import type { LogFile } from "./log-files.ts";
import { flagOffset, type LogStream, newline, partialFlag, recordTime, streamOffset, timeLength } from "./record.ts";

// Where `tail` and `since` begin to read.

export interface Position {
  /** Index into the files, oldest first. */
  readonly file: number;
  readonly offset: number;
}

const blockBytes = 64 * 1024;

/** The start of the last `lines` lines, of one stream if given. Reads backwards as far as needed. 0: the end. */
export async function tailPosition(files: readonly LogFile[], lines: number, stream?: LogStream): Promise<Position> {
  const last = files.length - 1;
  if (lines <= 0) return { file: Math.max(0, last), offset: files[last]?.size ?? 0 };
  let wanted = lines;
  let start: Position = { file: 0, offset: 0 };
  let newest = true;
  for (let file = last; file >= 0; file--) {
    const found = files[file];
    if (found === undefined) break;
    for await (const record of recordsBackwards(found)) {
      if (stream !== undefined && record.stream !== stream) continue;
      // A piece without an end belongs to the line after it, unless it is the very last.
      const endsLine = !record.partial || newest;
      newest = false;
      if (endsLine && wanted-- === 0) return start;
      start = { file, offset: record.offset };
    }
  }
  return start;
}

interface RecordPlace {
  readonly offset: number;
  readonly partial: boolean;
  readonly stream: LogStream;
}

/** Every record of a file, last first, in constant memory. */
async function* recordsBackwards(file: LogFile): AsyncGenerator<RecordPlace> {
  const handle = await open(file.path, "r");
  try {
    let held: Buffer = Buffer.alloc(0);
    let from = file.size;
    while (from > 0) {
      const length = Math.min(blockBytes, from);
      from -= length;
      const block = Buffer.allocUnsafe(length);
      await handle.read(block, 0, length, from);
      const bytes = held.length === 0 ? block : Buffer.concat([block, held]);
      // The first record of the block may begin in the block before it.
      let end = bytes.length;
      for (;;) {
        const before = end < 2 ? -1 : bytes.lastIndexOf(newline, end - 2);
        if (before < 0) break;
        yield placeOf(bytes, before + 1, from);
        end = before + 1;
      }
      held = bytes.subarray(0, end);
    }
    if (held.length > 0) yield placeOf(held, 0, 0);
  } finally {
    await handle.close();
  }
}

const letterO = 111;

const placeOf = (bytes: Buffer, at: number, base: number): RecordPlace => ({
  offset: base + at,
  partial: bytes[at + flagOffset] === partialFlag,
  stream: bytes[at + streamOffset + 3] === letterO ? "stdout" : "stderr",
});

/** A record start before which all records are older than `since`; readers drop older ones after it. */
export async function sincePosition(files: readonly LogFile[], since: Instant): Promise<Position> {
  const limit = recordTime(since);
  for (let file = files.length - 1; file > 0; file--) {
    const found = files[file];
    if (found !== undefined && (await firstTime(found.path)) < limit)
      return { file, offset: await offsetIn(found, since) };
  }
  const oldest = files[0];
  return { file: 0, offset: oldest === undefined ? 0 : await offsetIn(oldest, since) };
}

const offsetIn = async (file: LogFile, since: Instant): Promise<number> =>
  offsetBefore(await readIndex(file.path, file.size), since);

async function firstTime(path: string): Promise<string> {
  const handle = await open(path, "r");
  try {
    const bytes = Buffer.alloc(timeLength);
    await handle.read(bytes, 0, timeLength, 0);
    return bytes.toString("latin1");
  } finally {
    await handle.close();
  }
}

/** Both limits hold. */
export const laterPosition = (a: Position, b: Position): Position =>
  a.file > b.file || (a.file === b.file && a.offset > b.offset) ? a : b;
