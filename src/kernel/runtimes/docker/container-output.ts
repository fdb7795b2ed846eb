import type { IncomingMessage } from "node:http";
import type { LogStream } from "#kernel/streams/index.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { isRefusal } from "./engine/engine-errors.ts";
import { FrameReader } from "./engine/stream-frames.ts";

export interface OutputSink {
  /** A piece of a line with the engine's time; only a line's last piece ends in LF. False asks for a pause. */
  readonly take: (stream: LogStream, text: Buffer, time: string | undefined) => boolean;
  /** Awaited after a false. */
  readonly drained: () => Promise<unknown>;
}

const space = 0x20;
/** Nine digits, or fewer if the engine drops zeros at the end. */
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const longestTime = 36;

/** How late pieces of one stream may be against the other, in nanoseconds. */
const longestWay = 2_000_000_000n;

/** The last piece of a stream, and the number of pieces of that very time. */
interface Place {
  readonly time: string;
  readonly count: number;
}

/**
 * Reads a container's output over connections that break: each read continues where the last one was cut off. The
 * engine's copy has a time before every piece. Times ascend only within a stream, because the engine copies each by
 * itself; so every stream has its own place, and repeated pieces are skipped.
 */
export class OutputReader {
  readonly #engine: EngineClient;
  readonly #container: string;
  readonly #sink: OutputSink;
  readonly #places = new Map<LogStream, Place>();

  constructor(engine: EngineClient, container: string, sink: OutputSink) {
    this.#engine = engine;
    this.#container = container;
    this.#sink = sink;
  }

  /** Resolves at the end of the output. Rejects without the engine, or with the signal's reason. Repeatable. */
  follow(signal?: AbortSignal): Promise<void> {
    return this.#read("1", signal);
  }

  /** The output so far. After the container's end that is all of it, while `follow` may lack the last lines. */
  rest(signal?: AbortSignal): Promise<void> {
    return this.#read("0", signal);
  }

  async #read(follow: "0" | "1", signal?: AbortSignal): Promise<void> {
    // Streams that have not reached their places yet; computed before new pieces are noted.
    const behind = new Map(
      [...this.#places].map(([stream, { time, count }]) => [stream, { at: nanosOf(time), count }]),
    );
    const place =
      behind.size === 0 ? {} : { since: formatNanos(beginningOf([...behind.values()].map(({ at }) => at))) };
    const query = { follow, stdout: "1", stderr: "1", timestamps: "1", ...place };
    const response = await this.#open(query, signal);
    if (response === undefined) return;
    let isFull = false;
    const frames = new FrameReader((stream, payload) => {
      const { time, text } = cutTime(payload);
      const known = behind.get(stream);
      if (known !== undefined && time !== undefined) {
        const at = nanosOf(time);
        if (at < known.at || (at === known.at && known.count-- > 0)) return;
        behind.delete(stream);
      }
      this.#note(stream, time);
      if (!this.#sink.take(stream, text, time)) isFull = true;
    });
    for await (const chunk of response as AsyncIterable<Buffer>) {
      frames.push(chunk);
      if (!isFull) continue;
      isFull = false;
      await this.#sink.drained();
    }
  }

  /** A removed container has no more output. */
  async #open(query: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<IncomingMessage | undefined> {
    try {
      const path = `/containers/${this.#container}/logs`;
      return await this.#engine.stream("GET", path, { query, ...(signal === undefined ? {} : { signal }) });
    } catch (thrown) {
      if (isRefusal(thrown, 404) || isRefusal(thrown, 409)) return undefined;
      throw thrown;
    }
  }

  #note(stream: LogStream, time: string | undefined): void {
    if (time === undefined) return;
    const before = this.#places.get(stream);
    this.#places.set(stream, { time, count: time === before?.time ? before.count + 1 : 1 });
  }
}

function cutTime(payload: Buffer): { readonly time: string | undefined; readonly text: Buffer } {
  const end = payload.subarray(0, longestTime).indexOf(space);
  const time = payload.toString("latin1", 0, Math.max(0, end));
  return timeForm.test(time) ? { time, text: payload.subarray(end + 1) } : { time: undefined, text: payload };
}

/** Where unread pieces may begin: a silent stream must not cause the whole of the other one to be read again. */
function beginningOf(places: readonly bigint[]): bigint {
  const [first = 0n, second = 0n] = places.toSorted((a, b) => (a < b ? -1 : 1));
  const bound = (places.length === 1 ? first : second) - longestWay;
  return places.length === 1 || first < bound ? bound : first;
}

/** Since 1970; Date has no nanoseconds. */
function nanosOf(time: string): bigint {
  const [, whole = "", fraction = "", zone = ""] = /^([^.Z+]+?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  return BigInt(Date.parse(`${whole}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** In seconds; pieces of exactly that time are included. */
const formatNanos = (nanos: bigint): string =>
  `${nanos / 1_000_000_000n}.${`${nanos % 1_000_000_000n}`.padStart(9, "0")}`;
