import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { longestMessage, type NewLine, type StoredLine } from "../log-store/record.ts";
import { type LogTime, parseLogTime } from "../results/log-line.ts";

export interface LineJson {
  readonly logId: number;
  readonly buildId: number;
  readonly message: string;
  readonly timestamp: string;
  readonly workerStepId: number;
  readonly workerLogId: number;
}

export const lineJson = (buildId: number, line: StoredLine): LineJson => ({
  logId: line.logId,
  buildId,
  message: line.message,
  timestamp: timeText(line.time),
  workerStepId: line.stepId,
  workerLogId: line.workerLogId,
});

let lastSeconds = 0;
let lastText = "1970-01-01T00:00:00";

/** RFC 3339 as Go formats it: without trailing zeros. */
export function timeText({ seconds, nanos }: LogTime): string {
  if (seconds !== lastSeconds) {
    lastText = new Date(seconds * 1000).toISOString().replace(/\.000Z$/, "");
    lastSeconds = seconds;
  }
  return nanos === 0 ? `${lastText}Z` : `${lastText}.${`${nanos}`.padStart(9, "0").replace(/0+$/, "")}Z`;
}

/** Bounds of a protobuf Timestamp: years 1 to 9999. */
const [firstSecond, lastSecond] = [-62_135_596_800, 253_402_300_799];

export const isTime = ({ seconds, nanos }: LogTime): boolean =>
  seconds >= firstSecond && seconds <= lastSecond && nanos >= 0 && nanos <= 999_999_999;

/** Lines without a valid time get the earliest time. */
const noTime = { seconds: 0, nanos: 0 };

export const timeToTell = ({ time = noTime }: { readonly time?: LogTime | undefined }): LogTime =>
  isTime(time) ? time : noTime;

export type ReadLine = { readonly line: NewLine } | { readonly problem: string };

/** A line as JSON; missing numbers are 0. */
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

export const isId = (value: JsonValue): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

let lastRead = "";
let lastTime: LogTime | undefined;

function readTime(text: string): LogTime | undefined {
  if (text !== lastRead) [lastRead, lastTime] = [text, parseLogTime(text)];
  return lastTime;
}
