import type { FileHandle } from "node:fs/promises";
import type { Instant } from "#lib/base/index.ts";
import { prefixLength, recordPrefix } from "./record.ts";

// The line at the beginning of a log's file that tells of those before it. It is output like any other to whoever reads, because it is meant
// for people; on stdout, so that the last line of stderr stays the program's.

/** Behind it there is nothing but digits and words of ours. */
const beginning = "slipway: ";
const end = " bytes of this log come before this line; what is not kept of them was dropped\n";

/** The record to begin a file with when so many bytes came before it. */
export const lossMark = (bytes: number, at: Instant): Buffer =>
  Buffer.concat([recordPrefix(at, "stdout", "F"), Buffer.from(`${beginning}${bytes}${end}`)]);

const longestMark = 200;

/** Whether a record is such a line. */
export const isLossMark = (record: Buffer): boolean =>
  record.length <= longestMark && bytesIn(record.toString("latin1", prefixLength)) > 0;

/** What the text of a mark says; 0 for any other. */
const bytesIn = (text: string): number =>
  Number(text.startsWith(beginning) && text.includes(end) ? (/(\d{1,15})/.exec(text)?.[1] ?? 0) : 0);

/** What the mark of a file says; 0 for a file without one. */
export async function bytesBefore(file: FileHandle): Promise<number> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(longestMark), 0, longestMark, 0);
  return bytesIn(buffer.toString("latin1", prefixLength, Math.max(prefixLength, bytesRead)));
}

/** Length of the mark that a file begins with, if it says just this number; else 0. */
export function markLength(beginning: Buffer, bytes: number): number {
  const end = beginning.indexOf("\n") + 1;
  return bytesIn(beginning.toString("latin1", prefixLength, Math.min(end, longestMark))) === bytes && bytes > 0
    ? end
    : 0;
}
