import type { Instant } from "#lib/base/index.ts";

/** Which of a process's two outputs a record came from. Both names have six letters, on which the fixed offsets count. */
export type LogStream = "stdout" | "stderr";

/**
 * One record of a log file is `RFC3339Nano stream flag text` and a newline. Flag `F` ends a line of output, `P` is a piece of a
 * line that goes on in the stream's next record. Everything before the text has a fixed length, so files can be searched
 * without being parsed: times compare as bytes at the record's start, the flag stands at `flagOffset`.
 *
 *     2026-01-31T12:00:00.123000000Z stdout F text
 *     0                              31     38 40
 *
 * It is the format of the Container Runtime Interface, so that tools which read a kubelet's files read these as well.
 */
export const prefixLength = 40;
export const flagOffset = 38;
export const streamOffset = 31;
export const timeLength = 30;

/** Bytes of the ASCII characters: line feed, `F`, `P`. */
export const newline = 10;
export const fullFlag = 70;
export const partialFlag = 80;

/** A text longer than this without a newline is cut into `P` records, so that no reader or writer holds more. */
export const longestHeldText = 16 * 1024;

/** RFC 3339 with nine fractional digits: always 30 characters, for years up to 9999. The clock gives milliseconds, the rest is 0. */
export const recordTime = (at: Instant): string => `${new Date(at).toISOString().slice(0, 23)}000000Z`;

/** The bytes before the text of a record, `prefixLength` of them. */
export const recordPrefix = (at: Instant, stream: LogStream, flag: "F" | "P"): Buffer =>
  Buffer.from(`${recordTime(at)} ${stream} ${flag} `, "latin1");
