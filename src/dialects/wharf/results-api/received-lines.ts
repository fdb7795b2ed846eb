import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { refuse } from "../http/problem.ts";
import type { NewLine } from "../log-store/record.ts";
import { readLine } from "./line-json.ts";

/** Lines that came together: those that can be kept, and how many cannot. */
export interface ReceivedLines {
  readonly lines: readonly NewLine[];
  readonly skipped: number;
  /** Of the first that cannot. */
  readonly problem?: string | undefined;
}

/** Of a body that is one array. A body of lines is read as it comes, however long it is. */
const longestArray = 16 * 1024 * 1024;
/** Of one line: a message of 4 MiB whose every byte is escaped, and the rest. */
const longestLine = 25 * 1024 * 1024;
const lineFeed = 10;

/**
 * The lines of a body: JSON objects, one a line, or an array of them. Refuses what is no JSON; objects that are no lines are counted. Batches are
 * what has come of the body, so that a slow sender's lines are taken as they come.
 */
export async function* receivedLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<ReceivedLines, void> {
  let rest: Buffer = Buffer.alloc(0);
  let isArray: boolean | undefined;
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    isArray ??= beginsArray(bytes);
    parts.push(bytes);
    length += bytes.length;
    if (length > (isArray === true ? longestArray : longestLine))
      throw refuse("too-large", `expected at most ${isArray === true ? longestArray : longestLine} bytes at once`);
    if (isArray !== false || !bytes.includes(lineFeed)) continue;
    rest = Buffer.concat(parts);
    const end = rest.lastIndexOf(lineFeed) + 1;
    yield readAll(rest.toString("utf8", 0, end).split("\n"));
    [parts, length] = [[rest.subarray(end)], rest.length - end];
  }
  const text = Buffer.concat(parts).toString("utf8");
  yield isArray === true ? sorted(arrayOf(text)) : readAll([text]);
}

/** Undefined while there are only blanks. */
function beginsArray(bytes: Buffer): boolean | undefined {
  for (const byte of bytes) if (byte > 32) return byte === 0x5b;
  return undefined;
}

/** A body that begins as an array is one. */
function arrayOf(text: string): readonly JsonValue[] {
  const value = parse(text);
  if (Array.isArray(value)) return value;
  throw refuse("unexpected-body-read-error", "expected an array of lines, or one object a line");
}

/** Empty lines are none, which includes what is behind the last line feed. */
const readAll = (texts: readonly string[]): ReceivedLines =>
  sorted(texts.filter((text) => text.trim() !== "").map(parse));

/** Lines, and how many were none, with what is wrong with the first of those. */
function sorted(values: readonly JsonValue[]): ReceivedLines {
  const lines: NewLine[] = [];
  let problem: string | undefined;
  for (const value of values) {
    const read = readLine(value);
    if ("line" in read) lines.push(read.line);
    else problem ??= `${nameOf(value)}: ${read.problem}`;
  }
  return { lines, skipped: values.length - lines.length, problem };
}

/** Which line is meant, as far as it says so itself. */
function nameOf(value: JsonValue): string {
  const { workerLogId, workerStepId } = isJsonObject(value) ? value : {};
  const isNamed = typeof workerLogId === "number" && typeof workerStepId === "number";
  return isNamed ? `line ${workerLogId} of step ${workerStepId}` : "a line";
}

/** Refuses with the beginning of what was found. */
function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    const found = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    throw refuse("unexpected-body-read-error", `expected JSON, found ${JSON.stringify(found)}`, { cause });
  }
}
