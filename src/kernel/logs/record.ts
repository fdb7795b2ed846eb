import type { Instant } from "#lib/base/index.ts";

/** Which of a process's two outputs a record came from. */
export type LogStream = "stdout" | "stderr";

/**
 * One record of a log file is `RFC3339Nano stream flag text` and a newline. Flag `F` ends a line of output, `P` is a piece of a
 * line that goes on in the stream's next record. Everything before the text has a fixed length, so files can be searched
 * without being parsed: times compare as bytes at the record's start, the flag stands at `flagOffset`.
 */
export const prefixLength = 40;
export const flagOffset = 38;
export const streamOffset = 31;
export const timeLength = 30;

export const newline = 10;
export const fullFlag = 70;
export const partialFlag = 80;

/** A text longer than this without a newline is cut into `P` records, so that no reader or writer holds more. */
export const longestHeldText = 16 * 1024;

/** RFC 3339 with nine fractional digits: always 30 characters. */
export const recordTime = (at: Instant): string => `${new Date(at).toISOString().slice(0, 23)}000000Z`;

/** The bytes before the text of a record. */
export const recordPrefix = (at: Instant, stream: LogStream, flag: "F" | "P"): Buffer =>
  Buffer.from(`${recordTime(at)} ${stream} ${flag} `, "latin1");
