import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue, SlipwayError } from "#lib/base/index.ts";
import { type LogTime, parseLogTime } from "../results/log-line.ts";

/** Later lines may be sent twice. */
const mostRemembered = 100_000;
/** 4 MiB with every byte escaped. */
const longestLine = 25 * 1024 * 1024;
/** Between two lines as Go formats them; within texts the quote would be escaped. */
const between = '},{"logId":';

/** Lines that an API already has, by time and text. Reading resumes where it ended. */
export class PresentLines {
  readonly #counts = new Map<number, number>();
  #passed = 0;

  async read(log: AsyncIterable<Uint8Array>): Promise<void> {
    let at = 0;
    for await (const text of elementsOf(log)) {
      if (++at <= this.#passed) continue;
      this.#passed = at;
      if (this.#counts.size >= mostRemembered) continue;
      const key = keyOfJson(text);
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  passOver(count: number): void {
    this.#passed += count;
  }

  /** Matches each present line once. */
  take(time: LogTime, message: string): boolean {
    if (this.#counts.size === 0) return false;
    const key = keyOf(time, message);
    const count = this.#counts.get(key) ?? 0;
    if (count === 0) return false;
    if (count === 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
    return true;
  }
}

async function* elementsOf(log: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let [rest, from] = ["", 0];
  for await (const bytes of log) {
    rest += decoder.decode(bytes, { stream: true });
    if (rest.length > longestLine) throw noLog(`a line of more than ${longestLine} bytes`);
    for (;;) {
      const end = rest.indexOf(between, from);
      if (end < 0) break;
      yield rest.slice(from, end + 1).replace(/^\s*\[/, "");
      from = end + "},".length;
    }
    rest = rest.slice(from);
    from = 0;
  }
  const last = (rest + decoder.decode()).trim().replace(/^\[/, "").replace(/\]$/, "");
  if (last !== "" && last !== "null") yield last;
}

function keyOfJson(text: string): number {
  let line: JsonValue;
  try {
    line = JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw noLog(messageStart(text), cause);
  }
  const { timestamp, message } = isJsonObject(line) ? line : {};
  const time = typeof timestamp === "string" ? parseLogTime(timestamp) : undefined;
  if (time === undefined || typeof message !== "string") throw noLog(messageStart(text));
  return keyOf(time, message);
}

/** The original stores microseconds. 53 bits of SHA-256 are enough for this many lines. */
function keyOf({ seconds, nanos }: LogTime, message: string): number {
  const hash = createHash("sha256").update(`${seconds}.${Math.floor(nanos / 1000)}\n${message}`);
  return Number(hash.digest().readBigUInt64BE() >> 11n);
}

const messageStart = (text: string): string => JSON.stringify(text.slice(0, 80));

const noLog = (found: string, cause?: unknown): SlipwayError =>
  new SlipwayError(
    "wharf-service",
    `the log of the build: expected lines as {logId, message, timestamp}, found ${found}`,
    {
      cause,
    },
  );
