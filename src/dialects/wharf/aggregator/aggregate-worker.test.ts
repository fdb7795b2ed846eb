import { seededRandom } from "#kernel/kit/testing/index.ts";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import { deferred, silentLog, SlipwayError, systemClock } from "#lib/base/index.ts";
import { mostIntervals } from "../log-store/interval-set.ts";
import { lineOf } from "../log-store/testing/log-lines.ts";
import { tcpConnect } from "../worker-api/tcp-connect.ts";
import { WorkerClient } from "../worker-api/worker-client.ts";
import type { WorkerStatus } from "../worker-api/worker-messages.ts";
import { framesOf } from "../worker-api/testing/line-frames.ts";
import { serveBuild, type ServedBuild } from "../worker-api/testing/served-build.ts";
import { aggregateWorker } from "./aggregate-worker.ts";
import type { AggregationParts } from "./aggregation-parts.ts";
import { BuildApi } from "./build-api.ts";
import { type RecordingApi, withRecordingApi } from "./testing/recording-api.ts";

// A real worker's API on one side, the real store of lines of wharf-api on the other.

let worker: ServedBuild;
let client: WorkerClient;
const random = seededRandom(7);
beforeEach(async () => {
  worker = await serveBuild(2);
  const connect = tcpConnect(worker.door.address);
  client = new WorkerClient({ connect, clock: systemClock, random, log: silentLog });
});
afterEach(async () => {
  client.close();
  await worker.close();
});

const { signal: never } = new AbortController();
const aggregate = (
  { url, builds }: RecordingApi,
  parts: Partial<AggregationParts> = {},
  signal: AbortSignal = never,
): Promise<void> => {
  builds.known.add(7);
  const api = new BuildApi({ url }, 7);
  return aggregateWorker({ worker: client, api, clock: systemClock, random, log: silentLog, ...parts }, signal);
};

/** Name and size of what is stored. */
const leftBy = ({ artifacts }: RecordingApi) => artifacts.list(7).map(({ name, size }) => [name, size]);

const numbered = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");
const expected = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);

test("lines, artifacts and states are carried, and the end is told when everything is there", () =>
  withRecordingApi(async (api) => {
    const done = aggregate(api);
    await worker.print(1, numbered(5000));
    await worker.leave(1, "a/report.txt", "all is well");
    await worker.leave(2, "outputs.env", "# of the release\nVERSION=1.2.0\nnot an output\nVERSION=1.2.1\n");
    await expect.poll(() => api.statuses.map(({ status }) => status)).toContain("Running");
    expect(api.statuses.map(({ status }) => status)).not.toContain("Completed");
    await worker.print(2, numbered(3));
    await worker.end();
    await done;
    expect(await api.messages(7, 1)).toEqual(expected(5000));
    expect(await api.messages(7, 2)).toEqual(expected(3));
    expect(leftBy(api)).toEqual([
      ["a/report.txt", 11],
      ["outputs.env", 59],
    ]);
    const ends = api.statuses.filter(({ status }) => status !== "Running");
    // Outputs are read from the artifacts by the API, and by nobody else.
    expect(ends).toMatchObject([{ status: "Completed" }]);
    expect(ends[0]).not.toHaveProperty("outputs");
    expect(api.statuses.at(-1)).toMatchObject({
      status: "Completed",
      steps: [{ stepId: 1, status: "Success" }, { stepId: 2 }],
    });
  }));

test("a build that is over before anybody looks has run all the same, and one in which nothing began has not", () =>
  withRecordingApi(async (api) => {
    await worker.print(1, numbered(3));
    await worker.end();
    await aggregate(api);
    expect(api.statuses.map(({ status }) => status)).toEqual(["Running", "Completed"]);
    const idle = await serveBuild(2);
    await idle.end();
    const connect = tcpConnect(idle.door.address);
    const other = new WorkerClient({ connect, clock: systemClock, random, log: silentLog });
    await aggregate(api, { worker: other });
    expect(api.statuses.map(({ status }) => status)).toEqual(["Running", "Completed", "Completed"]);
    other.close();
    await idle.close();
  }));

test("a build that has failed says why, whatever its last step has come to", () =>
  withRecordingApi(async (api) => {
    await worker.print(1, numbered(1));
    await worker.results.setStatus(2, "Failed", 3);
    await worker.results.finish({ status: "Failed", reason: "ResultsLost", message: "the disk is full" });
    await worker.results.freeze();
    await aggregate(api);
    expect(api.statuses.at(-1)).toMatchObject({ status: "Failed", reason: "ResultsLost", message: "the disk is full" });
  }));

test("an API that fails for a while gets everything all the same, each line once", () =>
  withRecordingApi(async (api) => {
    api.refuse(3);
    await worker.print(1, numbered(10_000));
    await worker.end();
    await aggregate(api);
    expect(await api.messages(7, 1)).toEqual(expected(10_000));
  }));

test("lines stay in the order of their step when the API refuses one batch and takes the next", () => {
  let refuse = (): void => undefined;
  return withRecordingApi(
    async (api) => {
      refuse = () => {
        api.refuse(1);
        refuse = () => undefined;
      };
      // Three batches.
      await worker.print(1, numbered(25_000));
      await worker.end();
      await aggregate(api);
      const log = await fetch(`${api.url}/api/build/7/log`);
      const lines = (await log.json()) as readonly { readonly message: string }[];
      expect(lines.map(({ message }) => message)).toEqual(expected(25_000));
    },
    async (path) => {
      if (path.endsWith("/logs")) refuse();
    },
  );
});

describe("when it is ended in the middle", () => {
  test.each(rounds([0, 3], [0, 1, 2, 3, 4]))(
    "the next one goes on where the API is, and nothing is lost or twice (%i)",
    (round) =>
      withRecordingApi(async (api) => {
        const count = 20_000;
        await worker.print(1, numbered(count));
        await worker.leave(1, "report.txt", "y".repeat(8_000_000));
        await worker.end();
        for (let life = 0; ; life++) {
          const end = new AbortController();
          const done = aggregate(api, {}, end.signal).then(
            () => true,
            () => false,
          );
          if (life < 8) setTimeout(() => end.abort(new Error("killed")), 2 + round * 7 + life * 5);
          if (await done) break;
        }
        expect(await api.messages(7, 1)).toEqual(expected(count));
        expect(await api.logs.cursors(7)).toEqual([{ stepId: 1, lastWorkerLogId: count }]);
        expect(leftBy(api)).toEqual([["report.txt", 8_000_000]]);
      }),
  );
});

test("an API that has lost lines it had taken gets them again before it is told the end", () =>
  withRecordingApi(async (recording) => {
    const { url, statuses } = recording;
    const api = new BuildApi({ url }, 7);
    let looks = 0;
    const endAt: number[] = [];
    const forgetful: Pick<BuildApi, keyof BuildApi> = {
      close: () => api.close(),
      // At the third look, the first after everything was said to be on its disk, nothing is there.
      cursors: async (signal) => (++looks === 3 ? new Map() : await api.cursors(signal)),
      putFrames: (frames, signal, isDurable) => api.putFrames(frames, signal, isDurable),
      putLines: (lines, signal) => api.putLines(lines, signal),
      flushed: (signal) => api.flushed(signal),
      putStatus: async (status, told, signal) => {
        if (status === "Completed") endAt.push(looks);
        await api.putStatus(status, told, signal);
      },
      putArtifact: (artifact, body, signal) => api.putArtifact(artifact, body, signal),
    };
    await worker.print(1, numbered(100));
    await worker.end();
    await aggregate(recording, { api: forgetful });
    expect(endAt).toEqual([5]);
    expect(await recording.messages(7, 1)).toEqual(expected(100));
    expect(statuses.at(-1)).toMatchObject({ status: "Completed" });
  }));

describe("an API that is slow", () => {
  test("makes who reads wait, and not the worker; everything arrives", async () => {
    const count = 30_000;
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let held = 0;
    await withRecordingApi(
      async (api) => {
        let read = 0;
        const logs = client.logs.bind(client);
        client.logs = async function* (...told) {
          for await (const frames of logs(...told)) {
            read += frames.lines;
            yield frames;
          }
        };
        const done = aggregate(api);
        // All of it is printed before the API has taken a line.
        await worker.print(1, numbered(count));
        await worker.end();
        await expect.poll(() => read).toBeGreaterThan(10_000);
        // One batch on its way, one that gathers, and what has come at once.
        expect(held).toBe(1);
        expect(read).toBeLessThan(2 * 10_000 + 5000);
        expect(await api.messages(7, 1)).toEqual([]);
        open();
        await done;
        expect(await api.messages(7, 1)).toEqual(expected(count));
      },
      async (path) => {
        if (!path.endsWith("/logs")) return;
        held++;
        await gate;
      },
    );
  });

  test("is told fewer lines at once, until it has the time for them", () =>
    withRecordingApi(async (recording) => {
      const tries: number[] = [];
      const api = new BuildApi({ url: recording.url }, 7);
      const put = api.putFrames.bind(api);
      api.putFrames = async (...told) => {
        tries.push(told[0].lines);
        if (told[0].lines > 100) throw new SlipwayError("wharf-slow", "not within a minute");
        return await put(...told);
      };
      await worker.print(1, numbered(3000));
      await worker.end();
      await aggregate(recording, { api });
      expect(Math.max(...tries)).toBeGreaterThan(100);
      expect(await recording.messages(7, 1)).toEqual(expected(3000));
    }));
});

describe("lines that the API keeps out", () => {
  /** As many stretches of step 1 as it keeps track of: every other line from one on. */
  const stretchesFrom = (first: number) => Array.from({ length: mostIntervals }, (_, at) => lineOf(1, first + 2 * at));

  test("are told once, and hold up neither the rest nor the end", () =>
    withRecordingApi(async (api) => {
      await api.logs.insert(7, stretchesFrom(1001));
      await worker.print(1, numbered(5));
      await worker.print(2, numbered(3));
      await worker.end();
      await aggregate(api);
      await aggregate(api);
      expect(await api.messages(7, 2)).toEqual(expected(3));
      const why = "step 1: expected fewer than 65536 gaps, line 1 makes one more";
      expect(await api.messages(7, 0)).toEqual([`5 lines were not taken; the first: ${why}`]);
      expect(api.statuses.at(-1)).toMatchObject({ status: "Completed" });
    }));

  test("are there when others have made room for them", () =>
    withRecordingApi(async (api) => {
      // Line 1 is one stretch too many until line 2 is part of the next one.
      await api.logs.insert(7, stretchesFrom(3));
      await worker.print(1, numbered(4));
      await worker.end();
      await aggregate(api);
      expect((await api.messages(7, 1)).slice(0, 2)).toEqual(expected(2));
      expect(await api.messages(7, 0)).toEqual([]);
    }));
});

test("a time that cannot be is none", () =>
  withRecordingApi(async ({ url, builds, logs }) => {
    builds.known.add(7);
    const times = [{ seconds: 1e15, nanos: 0 }, { seconds: 0, nanos: 2e9 }, undefined];
    const linesFrom = (first: number) =>
      times.map((time, at) => ({ stepId: 1, logId: first + at, time, message: "x" }));
    const api = new BuildApi({ url }, 7);
    expect(await api.putFrames(framesOf(linesFrom(1)), never)).toMatchObject({ inserted: 3, skipped: 0 });
    expect(await api.putLines(linesFrom(4), never)).toMatchObject({ inserted: 3, skipped: 0 });
    for await (const page of logs.step(7, 1))
      expect(page.map(({ time }) => time)).toEqual(Array.from({ length: 6 }, () => ({ seconds: 0, nanos: 0 })));
  }));

test("an artifact that is there already is not sent again, and does not hold up the end", () =>
  withRecordingApi(async (api) => {
    await worker.leave(1, "large.bin", "z".repeat(8 * 1024 * 1024));
    await worker.end();
    await aggregate(api);
    await aggregate(api);
    expect(leftBy(api)).toEqual([["large.bin", 8 * 1024 * 1024]]);
  }));

test("a line without a number is carried once, also beside one that is kept out", () =>
  withRecordingApi(async (api) => {
    await worker.end();
    client.logs = async function* () {
      const line = { stepId: 1, time: undefined };
      yield framesOf([
        { ...line, logId: 0, message: "no number" },
        { ...line, logId: 1, message: "x".repeat(5 * 1024 * 1024) },
      ]);
    };
    await aggregate(api);
    expect(await api.messages(7, 0)).toEqual([
      "no number",
      "a line was not taken: line 1 of step 1: message: expected at most 4194304 bytes",
    ]);
  }));

test("artifacts of a worker that tells no digests are carried as any other", () =>
  withRecordingApi(async (api) => {
    await worker.leave(1, "report.txt", "all is well");
    await worker.end();
    const artifacts = client.artifacts.bind(client);
    client.artifacts = async function* (...told) {
      for await (const artifact of artifacts(...told)) yield { ...artifact, sha256: undefined, size: undefined };
    };
    await aggregate(api);
    expect(leftBy(api)).toEqual([["report.txt", 11]]);
    expect(await api.messages(7, 0)).toEqual([]);
  }));

test("a build that the API does not know is no reason to try again", () =>
  withRecordingApi(async (api) => {
    await worker.print(1, numbered(1));
    const unknown = new BuildApi({ url: api.url }, 99);
    await expect(aggregate(api, { api: unknown })).rejects.toMatchObject({
      code: "wharf-unknown-build",
    });
  }));

test("files that the API does not take as they are are told in the log, and hold up nothing", () =>
  withRecordingApi(async (api) => {
    await api.artifacts.add(
      7,
      { name: "taken", stepId: 1, workerArtifactId: 3 },
      (async function* () {
        yield Buffer.from("other bytes");
      })(),
    );
    const source = (name: string, testResults: boolean) => ({
      name,
      testResults,
      async *open() {
        yield Buffer.from("<html/>");
      },
    });
    const sources = [source("a.trx", true), source("b.trx", true), source("taken", false), source("good", false)];
    await worker.results.addArtifacts(1, sources);
    await worker.end();
    // A whole worker is tried again after a second at the earliest: here it is done once.
    await aggregate(api);
    expect(leftBy(api)).toEqual([
      ["taken", 11],
      ["a.trx", 7],
      ["b.trx", 7],
      ["good", 7],
    ]);
    expect(await api.messages(7, 0)).toEqual([
      expect.stringMatching(/^artifact "a.trx" of step 1: .*400: /),
      expect.stringMatching(/^artifact "b.trx" of step 1: .*400: /),
      expect.stringMatching(/^artifact "taken" of step 1: .*409: /),
    ]);
    expect(api.statuses.at(-1)).toMatchObject({ status: "Completed" });
  }));

test("an API that does not want the details of an end is told the end", async () => {
  const told: unknown[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      told.push(JSON.parse(body));
      response.writeHead(told.length === 1 ? 413 : 200).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  try {
    const api = new BuildApi({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, 7);
    const why = { reason: "BuildFailed", message: "no" };
    await api.putStatus("Failed", { ...why, steps: [{ stepId: 1 }] }, new AbortController().signal);
    expect(told).toEqual([
      { status: "Failed", ...why, steps: [{ stepId: 1 }] },
      { status: "Failed", ...why },
    ]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe("what steps have become", () => {
  /** The real worker with `statuses` in place of its own, and an API whose words are taken by `take`. */
  const withStatuses = (
    statuses: (signal: AbortSignal) => AsyncGenerator<WorkerStatus, void>,
    take: (word: string) => Promise<void>,
  ): Partial<AggregationParts> => {
    const scripted = new WorkerClient({
      connect: tcpConnect(worker.door.address),
      clock: systemClock,
      random,
      log: silentLog,
    });
    const api = new BuildApi({ url: "http://127.0.0.1:1" }, 7);
    return {
      worker: Object.assign(scripted, { statuses }),
      api: Object.assign(api, { putStatus: take, cursors: () => Promise.resolve(new Map<number, number>()) }),
    };
  };
  const news = (eventId: number, stepId: number): WorkerStatus => ({
    eventId,
    stepId,
    status: "Running",
    time: undefined,
  });

  test("is told also when it is heard at the moment at which the telling of others ends", () =>
    withRecordingApi(async (recording) => {
      for (let ticks = 0; ticks < 12; ticks++) {
        const end = new AbortController();
        let told = 0;
        const first = deferred<void>();
        const parts = withStatuses(
          async function* (signal) {
            yield news(1, 1);
            await first.promise;
            for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
            yield news(2, 2);
            await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
          },
          async () => {
            told++;
            first.resolve();
          },
        );
        const done = aggregate(recording, parts, end.signal).catch(() => undefined);
        await expect.poll(() => told, { message: `after ${ticks} ticks` }).toBe(2);
        end.abort(new Error("over"));
        await done;
        parts.worker?.close();
      }
    }));

  test("and that the API refuses ends it at once, though nothing more is heard of them", () =>
    withRecordingApi(async (recording) => {
      const parts = withStatuses(
        async function* (signal) {
          yield news(1, 1);
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
        },
        () => Promise.reject(new SlipwayError("wharf-unknown-build", "there is no build 7")),
      );
      await expect(aggregate(recording, parts)).rejects.toMatchObject({ code: "wharf-unknown-build" });
      parts.worker?.close();
    }));
});
