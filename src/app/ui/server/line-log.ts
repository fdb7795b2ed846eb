import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import { isInvalid, isNotFound } from "#kernel/model/index.ts";
import { parseInstant } from "#lib/base/index.ts";
import { openStepLog, type StepLog } from "#app/runs/index.ts";
import type { LogLine } from "../wire.ts";

type Logs = Pick<ApiClient, "logs" | "numbersLines">;

/** A place that can be read from: the number of a line, and its time, at which no earlier line was written. */
interface Mark {
  readonly line: number;
  readonly time: string;
}

const linesPerMark = 256;
/** The page cuts lines much earlier. */
const longestLine = 64 * 1024;

/**
 * One log by numbers of lines. A server in this process finds them by its indexes. Other APIs know only times: a mark
 * every 256 lines says at which time to begin, and the first reader reads the log once. The log itself is never kept.
 */
export class LineLog {
  readonly #log: StepLog;
  readonly #marks: Mark[] = [];
  #total = 0;
  #lastTime = "";

  constructor(log: StepLog) {
    this.#log = log;
  }

  /** The number of lines, an unfinished one included. */
  async count(client: Logs, signal: AbortSignal): Promise<number> {
    if (this.#isNumbered(client)) {
      let total = 0;
      for await (const { number } of this.#numbered(client, { tailLines: 1, signal })) total = number + 1;
      return total;
    }
    // What was read last may have been the beginning of a line.
    for await (const _line of this.#timed(client, Math.max(0, this.#total - 1), signal, false));
    return this.#total;
  }

  /** The number of the first line that is kept. */
  async first(client: Logs, signal: AbortSignal): Promise<number> {
    if (this.#isNumbered(client)) for await (const { number } of this.#numbered(client, { signal })) return number;
    return 0;
  }

  /** Lines from a number on, to the present end, or while the log is `followed`. */
  lines(client: Logs, from: number, signal: AbortSignal, follow = false): AsyncGenerator<NumberedLine, void> {
    return this.#isNumbered(client)
      ? this.#numbered(client, { fromLine: from, follow, signal })
      : this.#timed(client, from, signal, follow);
  }

  #isNumbered(client: Logs): boolean {
    return client.numbersLines?.(this.#log.of.type) === true;
  }

  async *#numbered(client: Logs, options: LogOptions): AsyncGenerator<NumberedLine, void> {
    let number: number | undefined;
    for await (const text of textLines(readable(client, this.#log, { ...options, numbered: true }))) {
      if (number === undefined) {
        number = Number(text);
        continue;
      }
      if (number >= (options.fromLine ?? 0)) yield { number, line: lineOfRecord(text) };
      number += 1;
    }
  }

  async *#timed(client: Logs, from: number, signal: AbortSignal, follow: boolean): AsyncGenerator<NumberedLine, void> {
    const mark = this.#marks.findLast(({ line }) => line <= from);
    let line = mark?.line ?? 0;
    let isThere = mark === undefined;
    const options = { timestamps: true, signal, follow, ...(mark === undefined ? {} : { sinceTime: mark.time }) };
    for await (const text of textLines(readable(client, this.#log, options))) {
      const { time, rest } = splitTime(text);
      // A server may round the time down, and show lines that were counted before.
      if (!isThere && mark !== undefined && time < mark.time) continue;
      isThere = true;
      if (line >= from) yield { number: line, line: lineOf(time, rest) };
      this.#note(line, time);
      line += 1;
      this.#total = Math.max(this.#total, line);
    }
  }

  #note(line: number, time: string): void {
    const isNew = instantOf(time) > instantOf(this.#lastTime);
    if (line >= this.#total) this.#lastTime = time;
    if (time !== "" && isNew && line >= (this.#marks.at(-1)?.line ?? 0) + linesPerMark)
      this.#marks.push({ line, time });
  }
}

export interface NumberedLine {
  readonly number: number;
  readonly line: LogLine;
}

const instantOf = (time: string): number => parseInstant(time) ?? 0;

/** Empty for a container that has not started, or is gone. */
async function* readable(client: Logs, log: StepLog, options: LogOptions): AsyncGenerator<Uint8Array, void> {
  try {
    yield* openStepLog(client, log, options);
  } catch (thrown) {
    if (!isInvalid(thrown) && !isNotFound(thrown)) throw thrown;
  }
}

const newline = 10;

/** Whole lines; the rest of one that is too long is dropped. */
async function* textLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const piece = chunk.subarray(from, end);
      yield (held.length === 0 ? Buffer.from(piece) : Buffer.concat([held, piece])).toString("utf8", 0, longestLine);
      held = Buffer.alloc(0);
      from = end + 1;
    }
    if (held.length < longestLine) held = Buffer.concat([held, chunk.subarray(from)]);
  }
  if (held.length > 0) yield held.toString("utf8", 0, longestLine);
}

const stamped = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) ?/;

function splitTime(text: string): { readonly time: string; readonly rest: string } {
  const [whole = "", time = ""] = stamped.exec(text) ?? [];
  return { time, rest: text.slice(whole.length) };
}

function lineOf(stamp: string, text: string): LogLine {
  const time = stamp === "" ? undefined : parseInstant(stamp);
  return time === undefined ? { text } : { text, time };
}

/** `TIME STREAM FLAG TEXT`, with a dash for what the source does not know. */
const recorded = /^(\S+) (stdout|stderr|-) [FP] /;

function lineOfRecord(record: string): LogLine {
  const [whole = "", stamp = "", stream = "-"] = recorded.exec(record) ?? [];
  const line = lineOf(stamp === "-" ? "" : stamp, record.slice(whole.length));
  return stream === "stdout" || stream === "stderr" ? { ...line, stream } : line;
}
