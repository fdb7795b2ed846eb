import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { refuse } from "../http/problem.ts";
import type { NewLine } from "../log-store/record.ts";
import { readLine } from "./line-json.ts";

export interface ReceivedLines {
  readonly lines: readonly NewLine[];
  readonly skipped: number;
  readonly problem?: string | undefined;
}

/** Arrays are buffered; lines are streamed. */
const longestArray = 16 * 1024 * 1024;
/** A message of 4 MiB with every byte escaped, and the rest. */
const longestLine = 25 * 1024 * 1024;
const lineFeed = 10;

/** Lines as NDJSON or an array. Refuses invalid JSON; other objects are counted. Batches follow the chunks of the body.
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

function beginsArray(bytes: Buffer): boolean | undefined {
  for (const byte of bytes) if (byte > 32) return byte === 0x5b;
  return undefined;
}

function arrayOf(text: string): readonly JsonValue[] {
  const value = parse(text);
  if (Array.isArray(value)) return value;
  throw refuse("unexpected-body-read-error", "expected an array of lines, or one object a line");
}

const readAll = (texts: readonly string[]): ReceivedLines =>
  sorted(texts.filter((text) => text.trim() !== "").map(parse));

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

function nameOf(value: JsonValue): string {
  const { workerLogId, workerStepId } = isJsonObject(value) ? value : {};
  const isNamed = typeof workerLogId === "number" && typeof workerStepId === "number";
  return isNamed ? `line ${workerLogId} of step ${workerStepId}` : "a line";
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    const found = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    throw refuse("unexpected-body-read-error", `expected JSON, found ${JSON.stringify(found)}`, { cause });
  }
}
