import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { longestMessage, type NewLine, type StoredLine } from "../log-store/record.ts";
import { type LogTime, parseLogTime } from "../results/log-line.ts";

/** A line as clients know it. */
export interface LineJson {
  readonly logId: number;
  readonly buildId: number;
  readonly message: string;
  /** RFC 3339 in UTC, with as many digits of fraction as it has. */
  readonly timestamp: string;
  readonly workerStepId: number;
  readonly workerLogId: number;
}

/** A stored line as clients know it. */
export const lineJson = (buildId: number, line: StoredLine): LineJson => ({
  logId: line.logId,
  buildId,
  message: line.message,
  timestamp: timeText(line.time),
  workerStepId: line.stepId,
  workerLogId: line.workerLogId,
});

// Lines that follow each other are of one second.
let lastSeconds = 0;
let lastText = "1970-01-01T00:00:00";

/** A moment as Go writes it: no fraction where there is none, no zeros at its end. */
export function timeText({ seconds, nanos }: LogTime): string {
  if (seconds !== lastSeconds) {
    lastText = new Date(seconds * 1000).toISOString().replace(/\.000Z$/, "");
    lastSeconds = seconds;
  }
  return nanos === 0 ? `${lastText}Z` : `${lastText}.${`${nanos}`.padStart(9, "0").replace(/0+$/, "")}Z`;
}

/** The protocol's own bounds of a time: from year 1 to year 9999. */
const [firstSecond, lastSecond] = [-62_135_596_800, 253_402_300_799];

/** Whether a moment can be told at all; what comes over the wire may be any number. */
export const isTime = ({ seconds, nanos }: LogTime): boolean =>
  seconds >= firstSecond && seconds <= lastSecond && nanos >= 0 && nanos <= 999_999_999;

/** Lines whose worker tells no time, or none that can be, have the earliest that there is: a later one would be invented. */
const noTime = { seconds: 0, nanos: 0 };

/** When a line was printed, for who asks wharf-api. */
export const timeToTell = ({ time = noTime }: { readonly time?: LogTime | undefined }): LogTime =>
  isTime(time) ? time : noTime;

/** What is wrong with a line, or the line. */
export type ReadLine = { readonly line: NewLine } | { readonly problem: string };

/** A line as workers send it: `{workerLogId, workerStepId, timestamp, message}`; the first two are 0 when they are absent. */
export function readLine(value: JsonValue): ReadLine {
  if (!isJsonObject(value)) return { problem: "expected an object" };
  const { workerLogId = 0, workerStepId = 0, timestamp, message = "" } = value;
  if (!isId(workerLogId)) return { problem: "workerLogId: expected a whole number from 0" };
  if (!isId(workerStepId)) return { problem: "workerStepId: expected a whole number from 0" };
  if (typeof message !== "string") return { problem: "message: expected a text" };
  if (3 * message.length > longestMessage && Buffer.byteLength(message) > longestMessage)
    return { problem: `message: expected at most ${longestMessage} bytes` };
  const time = typeof timestamp === "string" ? readTime(timestamp) : undefined;
  if (time === undefined) return { problem: "timestamp: expected a time as in 2026-01-31T12:00:00.123Z" };
  return { line: { stepId: workerStepId, workerLogId, time, message } };
}

/** Numbers that a double cannot hold are nobody's: a build of a line a nanosecond reaches them after three months. */
export const isId = (value: JsonValue): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

// Lines of one chunk of output have one time.
let lastRead = "";
let lastTime: LogTime | undefined;

/** RFC 3339 with any zone; undefined for anything else. */
function readTime(text: string): LogTime | undefined {
  if (text !== lastRead) [lastRead, lastTime] = [text, parseLogTime(text)];
  return lastTime;
}
