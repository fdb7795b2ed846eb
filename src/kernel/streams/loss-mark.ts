import type { FileHandle } from "node:fs/promises";
import type { Instant } from "#lib/base/index.ts";
import { prefixLength, recordPrefix } from "./record.ts";

// The first line of a log file, about the bytes before it. Ordinary output, because it is for people; on stdout, so
// that the last line of stderr is the program's.

const beginning = "slipway: ";
const end = " bytes of this log come before this line; what is not kept of them was dropped\n";

/** The first record of a file after so many bytes. */
export const lossMark = (bytes: number, at: Instant): Buffer =>
  Buffer.concat([recordPrefix(at, "stdout", "F"), Buffer.from(`${beginning}${bytes}${end}`)]);

const longestMark = 200;

export const isLossMark = (record: Buffer): boolean =>
  record.length <= longestMark && bytesIn(record.toString("latin1", prefixLength)) > 0;

/** 0 for any other text. */
const bytesIn = (text: string): number =>
  Number(text.startsWith(beginning) && text.includes(end) ? (/(\d{1,15})/.exec(text)?.[1] ?? 0) : 0);

/** 0 for a file without a mark. */
export async function bytesBefore(file: FileHandle): Promise<number> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(longestMark), 0, longestMark, 0);
  return bytesIn(buffer.toString("latin1", prefixLength, Math.max(prefixLength, bytesRead)));
}

/** Length of the mark at the beginning if it says this number; else 0. */
export function markLength(beginning: Buffer, bytes: number): number {
  const end = beginning.indexOf("\n") + 1;
  return bytesIn(beginning.toString("latin1", prefixLength, Math.min(end, longestMark))) === bytes && bytes > 0
    ? end
    : 0;
}
