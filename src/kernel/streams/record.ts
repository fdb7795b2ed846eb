import type { Instant } from "#lib/base/index.ts";

/** Both names have six letters, on which the fixed offsets rely. */
export type LogStream = "stdout" | "stderr";

/**
 * One record of a log file is `RFC3339Nano stream flag text` and a newline. Flag `F` ends a line of output, `P` is a
 * piece of a line that goes on in the stream's next record. Everything before the text has a fixed length, so files can
 * be searched without being parsed: times compare as bytes at the record's start, the flag stands at `flagOffset`.
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
export const newline = 10;
export const fullFlag = 70;
export const partialFlag = 80;

/** Longer texts without a newline are cut into `P` records. */
export const longestHeldText = 16 * 1024;

/** RFC 3339 with nine fractional digits, always 30 characters; the clock gives milliseconds. */
export const recordTime = (at: Instant): string => `${new Date(at).toISOString().slice(0, 23)}000000Z`;

/** The bytes before the text of a record. */
export const recordPrefix = (at: Instant, stream: LogStream, flag: "F" | "P"): Buffer =>
  Buffer.from(`${recordTime(at)} ${stream} ${flag} `, "latin1");
