import { isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { tcpConnect } from "../worker-api/tcp-connect.ts";
import type { Connect } from "../worker-api/worker-rest-client.ts";
import { deferred, getOrAdd, isJsonObject, type JsonValue, type Millis, SlipwayError } from "#lib/base/index.ts";
import { FramedChannel, frameOf, fromBinary, RpcError, wharfApiV5 } from "#kernel/rpc/index.ts";
import { IntervalSet } from "../log-store/interval-set.ts";
import { timeToTell } from "../results-api/line-json.ts";
import type { WorkerLine } from "../worker-api/worker-messages.ts";
import { readService, type ServiceAddress } from "./api-connection.ts";
import { askOfBuild } from "./ask-of-build.ts";
import type { TakenLines } from "./build-api.ts";
import { createHash } from "node:crypto";
import { type LogTime, parseLogTime } from "../results/log-line.ts";

/** The gRPC limit without the rest of the line. */
const longestMessage = 4 * 1024 * 1024 - 1024;

/** The original stores each line separately. */
const streamTimeout: Millis = 300_000;

/** Lines for the original's `CreateLogStream`. Lines have no numbers there, so existing ones are recognised by time and
 * text. */
export class OriginalLines {
  readonly #service: ServiceAddress;
  readonly #buildId: number;
  readonly #channel: FramedChannel;
  readonly #present = new PresentLines();
  #turn: Promise<void> = Promise.resolve();
  /** The log may contain lines that were not acknowledged here. */
  #mustLook = true;
  readonly #taken = new Map<number, IntervalSet>();

  constructor(service: ServiceAddress, buildId: number) {
    this.#service = service;
    this.#buildId = buildId;
    const headers = service.token === undefined ? {} : { authorization: `Bearer ${service.token}` };
    const authority = new URL(service.url).origin;
    this.#channel = new FramedChannel({ connect: connectToService(service.url), headers, authority });
  }

  get cursors(): ReadonlyMap<number, number> {
    return new Map([...this.#taken].map(([stepId, taken]) => [stepId, taken.prefix]));
  }

  /** Serialized: existing lines are only known between streams. */
  async put(lines: readonly WorkerLine[], signal: AbortSignal): Promise<TakenLines> {
    const before = this.#turn;
    const turn = deferred<void>();
    this.#turn = turn.promise;
    await before;
    return await this.#put(lines, signal).finally(turn.resolve);
  }

  async #put(lines: readonly WorkerLine[], signal: AbortSignal): Promise<TakenLines> {
    if (this.#mustLook) await this.#look(signal);
    const fresh = lines.filter((line) => !this.#has(line));
    const short = fresh.filter(({ message }) => Buffer.byteLength(message) <= longestMessage);
    const missing: WorkerLine[] = [];
    for (const line of short)
      if (this.#present.take(timeToTell(line), storable(line.message))) this.#note(line);
      else missing.push(line);
    const inserted = missing.length === 0 ? 0 : await this.#send(missing, signal);
    for (const line of missing) this.#note(line);
    const skipped = fresh.length - short.length;
    return {
      inserted,
      skipped,
      problem: skipped === 0 ? undefined : `message: expected at most ${longestMessage} bytes`,
    };
  }

  close(): void {
    this.#channel.close();
  }

  #has({ stepId, logId }: WorkerLine): boolean {
    return logId > 0 && this.#of(stepId).has(logId);
  }

  #note({ stepId, logId }: WorkerLine): void {
    if (logId > 0) this.#of(stepId).add(logId);
  }

  #of(stepId: number): IntervalSet {
    return getOrAdd(this.#taken, stepId, () => new IntervalSet());
  }

  async #look(signal: AbortSignal): Promise<void> {
    const path = `/api/build/${this.#buildId}`;
    // The log of an unknown build is empty.
    await askOfBuild(this.#service, { method: "GET", path }, signal);
    await this.#present.read(readService(this.#service, `${path}/log`, signal));
    this.#mustLook = false;
  }

  async #send(lines: readonly WorkerLine[], signal: AbortSignal): Promise<number> {
    const { CreateLogStreamRequestSchema: request, CreateLogStreamResponseSchema: response } = wharfApiV5;
    const frames = lines.map((line) => {
      const { seconds, nanos } = timeToTell(line);
      return frameOf(request, {
        buildId: BigInt(this.#buildId),
        workerLogId: BigInt(line.logId),
        workerStepId: BigInt(line.stepId),
        timestamp: { seconds: BigInt(seconds), nanos },
        message: storable(line.message),
      });
    });
    this.#mustLook = true;
    const answer = await this.#answer(Buffer.concat(frames), signal);
    const inserted = Number(fromBinary(response, answer).linesInserted);
    this.#present.passOver(inserted);
    this.#mustLook = false;
    return inserted;
  }

  async #answer(frames: Buffer, signal: AbortSignal): Promise<Buffer> {
    const limit = AbortSignal.timeout(streamTimeout);
    const path = "/wharf.api.v5.Builds/CreateLogStream";
    const answers: Buffer[] = [];
    try {
      for await (const messages of this.#channel.stream(path, frames, AbortSignal.any([signal, limit])))
        answers.push(...messages);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!limit.aborted) throw thrown;
      const problem = `${path} at ${this.#service.url}: no answer within ${streamTimeout / 1000} s`;
      throw new SlipwayError("wharf-service", problem, { cause: thrown });
    }
    const [answer] = answers;
    if (answer === undefined) throw new RpcError("INTERNAL", "wharf-api has ended a stream of lines without an answer");
    return answer;
  }
}

/** PostgreSQL, which the original uses, does not store NUL. */
const storable = (message: string): string => message.replaceAll("\0", "\uFFFD");

export function connectToService(url: string): Connect {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "https:";
  const connect = tcpConnect(`${hostname}:${port === "" ? (isSecure ? 443 : 80) : port}`);
  if (!isSecure) return connect;
  return async (signal) => {
    const socket = await connect(signal);
    const host = hostname.replaceAll(/^\[|\]$/g, "");
    const name = isIP(host) === 0 ? { servername: host } : {};
    return await new Promise((resolve, reject) => {
      const secured = connectTls({ socket, host, ...name, ALPNProtocols: ["h2"] });
      const abort = (): void => void secured.destroy(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      secured.once("error", reject);
      secured.once("close", () => signal.removeEventListener("abort", abort));
      secured.once("secureConnect", () => {
        signal.removeEventListener("abort", abort);
        secured.off("error", reject);
        resolve(secured);
      });
    });
  };
}

/** Later lines may be sent twice. */
const mostRemembered = 100_000;
/** 4 MiB with every byte escaped. */
const longestLine = 25 * 1024 * 1024;
/** Between two lines as Go formats them; within texts the quote would be escaped. */
const between = '},{"logId":';

/** Lines that an API already has, by time and text. Reading resumes where it ended. */
class PresentLines {
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
