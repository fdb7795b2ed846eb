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

/** What the mark of a file says; 0 for a file without one. */
export async function bytesBefore(file: FileHandle): Promise<number> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(longestMark), 0, longestMark, 0);
  const text = buffer.toString("latin1", prefixLength, Math.max(prefixLength, bytesRead));
  const [, digits = "0"] = text.startsWith(beginning) && text.includes(end) ? (/(\d{1,15})/.exec(text) ?? []) : [];
  return Number(digits);
}
