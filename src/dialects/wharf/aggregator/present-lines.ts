import { createHash } from "node:crypto";
import { isJsonObject, type JsonValue, SlipwayError } from "#lib/base/index.ts";
import { type LogTime, parseLogTime } from "../results/log-line.ts";

/** What is remembered at most; some MiB. What a log has behind that may be told twice. */
const mostRemembered = 100_000;
/** Of the JSON of one line: 4 MiB whose every byte is escaped, and the rest. */
const longestLine = 25 * 1024 * 1024;
/** Between two lines of an array as Go writes it. Within a text the quotation mark would be escaped. */
const between = '},{"logId":';

/**
 * Lines that an API has and that their worker may bring again, known by time and text. Lines that are there twice may come twice. A log is read on
 * from where it was read before, or from behind those that were passed over.
 */
export class PresentLines {
  /** How often a line is there that was not taken yet, by what it is known by. */
  readonly #counts = new Map<number, number>();
  #passed = 0;

  /** Reads the array of a whole log. Rejects with `wharf-service` when it is none. */
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

  /** So many further lines are there, and need not be looked at. */
  passOver(count: number): void {
    this.#passed += count;
  }

  /** Whether a line is there that is this one. It is no other one's then. */
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

/** The elements of an array of lines as text, one after the other. */
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

/** Databases of the original keep microseconds. 53 bits of a digest: among so many lines no two are taken for each other. */
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
