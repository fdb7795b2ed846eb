import { seededRandom } from "#kernel/kit/testing/index.ts";
import { describe, expect, test } from "vitest";
import { FakeClock, SlipwayError } from "#lib/base/index.ts";
import { type LogOptions } from "#kernel/kit/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { Patience } from "../patience.ts";
import { clusterCounterpart } from "./cluster.ts";
import { followPodLog } from "./pod-log.ts";

interface Line {
  /** Nanoseconds after the beginning. */
  readonly at: number;
  readonly text: string;
}

const start = Date.parse("2026-11-23T10:00:00Z") / 1000;
const timeOf = ({ at }: Line): string =>
  `${new Date((start + Math.floor(at / 1e9)) * 1000).toISOString().slice(0, 19)}.${`${at % 1e9}`.padStart(9, "0")}Z`;

/** Lines of two streams that are written at once: some at the same time, some a little out of their order, over some seconds. */
function linesOf(random: () => number): readonly Line[] {
  let at = 0;
  return Array.from({ length: 40 + Math.floor(random() * 100) }, (_, index) => {
    at += random() < 0.3 ? 0 : Math.floor(random() * 2e8);
    const text = random() < 0.1 ? "x".repeat(Math.floor(random() * 300)) : `${index}`;
    return { at: Math.max(0, at - (random() < 0.1 ? 5e8 : 0)), text };
  });
}

const broken = new SlipwayError("connection-failed", "the connection broke");

/** What a node has of a log, served as nodes do: from whole seconds on, in chunks of any size. */
function served(lines: readonly Line[], { sinceTime }: LogOptions): Buffer {
  const since = sinceTime === undefined ? 0 : (Date.parse(sinceTime) / 1000 - start) * 1e9;
  const kept = lines.filter(({ at }) => at >= since);
  return Buffer.from(kept.map((line) => `${timeOf(line)} ${line.text}\n`).join(""));
}

async function* inChunks(bytes: Buffer, random: () => number): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + Math.floor(random() * 200);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** What is read when `logs` answers each request in turn, and the program has ended once `cuts` requests were answered. */
async function readAll(logs: (options: LogOptions, count: number) => AsyncIterable<Uint8Array>, cuts: number) {
  const clock = new FakeClock();
  const pieces: { readonly bytes: Buffer; readonly time: string | undefined }[] = [];
  let count = 0;
  const reading = followPodLog({
    client: { logs: (_ref, options = {}) => logs(options, count++) },
    namespace: "builds",
    name: "pod",
    log: {
      append: (_stream, bytes, time) => pieces.push({ bytes: Buffer.from(bytes), time }) % 7 !== 0,
      drained: () => Promise.resolve(),
    },
    clock,
    patience: new Patience(clock, 60_000, clusterCounterpart),
    hasEnded: () => count >= cuts,
    ended: new Promise(() => undefined),
    signal: new AbortController().signal,
  });
  const outcome = { isThere: false };
  const settle = (): void => void (outcome.isThere = true);
  reading.then(settle, settle);
  for (let turn = 0; turn < 2000 && !outcome.isThere; turn++) await clock.advance(100);
  await reading;
  return { text: Buffer.concat(pieces.map(({ bytes }) => bytes)).toString(), pieces };
}

describe("the log of a Pod", () => {
  test.each(Array.from({ length: 60 }, (_, seed) => seed))(
    "cut anywhere, again and again, is whole, each line once (%i)",
    async (seed) => {
      const random = seededRandom(seed);
      const lines = linesOf(random);
      const cuts = 1 + Math.floor(random() * 6);
      async function* logs(options: LogOptions, count: number): AsyncGenerator<Buffer, void> {
        // A program that runs has written a part of it.
        const written =
          options.follow === true ? lines.slice(0, Math.ceil((lines.length * (count + 1)) / (cuts + 1))) : lines;
        const bytes = served(written, options);
        if (options.follow !== true) return yield* inChunks(bytes, random);
        yield* inChunks(bytes.subarray(0, Math.floor(random() * (bytes.length + 1))), random);
        if (random() < 0.6) throw broken;
      }
      const { text, pieces } = await readAll(logs, cuts);
      expect(text).toBe(lines.map((line) => `${line.text}\n`).join(""));
      expect(pieces.filter(({ time }) => time === undefined)).toEqual([]);
    },
  );

  test("that was rotated meanwhile goes on with what there is", async () => {
    const [first, second] = [
      [
        { at: 1e9, text: "old" },
        { at: 2e9, text: "last" },
      ],
      [
        { at: 2e9, text: "last" },
        { at: 3e9, text: "new" },
      ],
    ];
    const { text } = await readAll(async function* (options, count) {
      yield served((count === 0 ? first : second) ?? [], options);
    }, 1);
    expect(text).toBe("old\nlast\nnew\n");
  });

  test("without times is given as it is, and without an end, too", async () => {
    const { text } = await readAll(async function* () {
      yield Buffer.from("no time\n\n2026 and more of it than a time could ever be");
    }, 0);
    expect(text).toBe("no time\n\n2026 and more of it than a time could ever be");
  });

  test("of a Pod that is gone has no more, and one that cannot be had is lost in the end", async () => {
    const gone = new ApiError("NotFound", "no such pod");
    const fail = (thrown: Error) =>
      // oxlint-disable-next-line require-yield
      async function* (): AsyncGenerator<Buffer, void> {
        throw thrown;
      };
    expect((await readAll(fail(gone), 1)).text).toBe("");
    await expect(readAll(fail(broken), 10_000)).rejects.toMatchObject({ reason: "RuntimeLost" });
    await expect(readAll(fail(new ApiError("Forbidden", "no")), 1)).rejects.toThrow("no");
  });
});
