import type { IncomingMessage } from "node:http";
import type { LogStream } from "#kernel/logs/index.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { isRefusal } from "./engine/engine-errors.ts";
import { FrameReader } from "./engine/stream-frames.ts";

/** Where the output of a container goes, piece by piece. */
export interface OutputSink {
  /**
   * A piece of a line, or all of it, with when the engine saw it, in RFC 3339 with nanoseconds. A line beyond 16 KiB comes in several pieces, only
   * the last of which ends in LF. False asks for a pause.
   */
  readonly take: (stream: LogStream, text: Buffer, time: string | undefined) => boolean;
  /** Waited for after a false. */
  readonly drained: () => Promise<unknown>;
}

const space = 0x20;
/** `2026-11-21T11:39:20.022015903Z`: the engine writes nine digits, or leaves out zeros at their end, as others do. */
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const longestTime = 36;

/** How long a piece of one stream may be on its way while pieces of the other one, which were printed later, have been told. */
const longestWay = 2_000_000_000n;

/** The last piece of a stream, and how many pieces of that very time there were: the engine knows no other place. */
interface Place {
  readonly time: string;
  readonly count: number;
}

/**
 * Reads what a container prints, from its beginning and until it ends, over connections that break: each reading goes on where the one before
 * was cut off. The engine's copy has a time in front of every piece, not only of every line. Times ascend in each stream and not between them,
 * because the engine copies each by itself; so every stream has a place of its own, and what is told again of it is passed over.
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

  /** Resolves when the engine says that there is no more. Rejects when it is gone, or with the signal's reason; may be called again then. */
  follow(signal?: AbortSignal): Promise<void> {
    return this.#read("1", signal);
  }

  /**
   * What there is by now. After the end of the container that is everything, which `follow` need not have told: an engine may end it with
   * the last lines still on their way.
   */
  rest(signal?: AbortSignal): Promise<void> {
    return this.#read("0", signal);
  }

  async #read(follow: "0" | "1", signal?: AbortSignal): Promise<void> {
    // Streams that have not come to where they were; looked at before anything new is noted.
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

  /** One that was removed, or is about to be, has no more to tell. */
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

/** From when on there may be pieces that were not told: a stream that says nothing must not have the whole of the other one told again. */
function beginningOf(places: readonly bigint[]): bigint {
  const [first = 0n, second = 0n] = places.toSorted((a, b) => (a < b ? -1 : 1));
  const bound = (places.length === 1 ? first : second) - longestWay;
  return places.length === 1 || first < bound ? bound : first;
}

/** Of 1970, since Date holds no nanoseconds. */
function nanosOf(time: string): bigint {
  const [, whole = "", fraction = "", zone = ""] = /^([^.Z+]+?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  return BigInt(Date.parse(`${whole}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** As the engine wants them, in seconds; pieces of just that time are among what it sends. */
const formatNanos = (nanos: bigint): string =>
  `${nanos / 1_000_000_000n}.${`${nanos % 1_000_000_000n}`.padStart(9, "0")}`;
