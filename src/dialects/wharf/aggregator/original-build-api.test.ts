import { seededRandom } from "#kernel/kit/testing/index.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { serveBuild, type ServedBuild } from "../worker-api/testing/served-build.ts";
import type { WorkerLine } from "../worker-api/worker-messages.ts";
import { BuildApi } from "./build-api.ts";
import { BuildApis } from "./build-apis.ts";
import { type DutyParts, settleWorker } from "./settle-worker.ts";
import { OriginalBuildApi } from "./original-build-api.ts";
import { wholeShard } from "./shard.ts";
import { type OriginalApi, type OriginalBuild, withOriginalApi } from "./testing/original-api.ts";
import { withRecordingApi } from "./testing/recording-api.ts";
import { withProvisioner } from "./testing/some-provisioner.ts";

// A real worker's API on one side; on the other an API with the endpoints of the original, and no others.

const { signal: never } = new AbortController();

let worker: ServedBuild;
beforeEach(async () => {
  worker = await serveBuild(2);
});
afterEach(async () => {
  await worker.close();
});

/** Carries everything of a worker of build 7, as an aggregator that knows nothing. */
const settle = (
  { url }: Pick<OriginalApi, "url">,
  address = worker.door.address,
  apis = new BuildApis({ url }),
): Promise<void> =>
  withProvisioner(async (provisioner) => {
    const metadata = { name: "w-7", uid: "uid-7", creationTimestamp: "2026-01-01T00:00:00Z" };
    const status = { address, finishedAt: "2026-01-01T00:00:01Z", message: "it has ended" };
    const stored = { metadata, spec: { buildRef: 7 }, status } as unknown as Stored<Worker>;
    const parts: DutyParts = {
      api: { url },
      apis,
      provisioner: { url: provisioner },
      shard: wholeShard,
      clock: systemClock,
      random: seededRandom(1),
      log: silentLog,
    };
    await settleWorker(stored, parts, AbortSignal.timeout(50_000));
  });

const build7 = ({ builds }: OriginalApi): OriginalBuild => builds.get(7) as OriginalBuild;
const messagesOf = (api: OriginalApi): readonly string[] => build7(api).lines.map(({ message }) => message);
const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `line ${at + 1}`);
/** As a worker has them. */
const linesFrom = (first: number, count: number): readonly WorkerLine[] =>
  Array.from({ length: count }, (_, at) => {
    const logId = first + at;
    return { stepId: 1, logId, time: { seconds: 1_700_000_000 + logId, nanos: 123_456_789 }, message: `line ${logId}` };
  });

test("lines come in order over streams of at most 10,000, then artifacts and the end, and none twice when it is done again", () =>
  withOriginalApi(async (api) => {
    await worker.print(1, `${numbered(10_500).join("\n")}\n`);
    await worker.leave(1, "a/report.txt", "all is well");
    await worker.leave(2, "b/report.txt", "all is well");
    await worker.leave(2, 'odd "name"\\ö.txt', "");
    const results = [["good.trx", "<TestRun/>"] as const, ["bad.trx", "no results"] as const];
    const sources = results.map(([name, content]) => ({
      name,
      testResults: true,
      async *open() {
        yield Buffer.from(content);
      },
    }));
    await worker.results.addArtifacts(2, sources);
    await worker.end();
    await settle(api);
    const told = messagesOf(api).filter((message) => message.startsWith("artifact"));
    expect(told).toEqual([expect.stringMatching(/^artifact "bad.trx" of step 2: .*400/)]);
    expect(messagesOf(api).filter((message) => message !== told[0])).toEqual(numbered(10_500));
    expect(Math.max(...api.streams)).toBeLessThanOrEqual(10_000);
    const left = build7(api).artifacts.map(({ fileName, via, data }) => [fileName, via, data.toString()]);
    expect(left).toEqual([
      ["report.txt", "artifact", "all is well"],
      ["report.txt", "artifact", "all is well"],
      ['odd "name"_ö.txt', "artifact", ""],
      ["good.trx", "test-result", "<TestRun/>"],
      ["bad.trx", "test-result", "no results"],
    ]);
    expect(build7(api).told.at(-1)).toBe("Completed");
    const counts = (): readonly number[] =>
      [build7(api).lines, build7(api).artifacts, build7(api).told].map(({ length }) => length);
    const before = counts();
    await settle(api);
    expect(counts()).toEqual(before);
  }));

describe("lines that the API has already", () => {
  test("are not told again after a stream that broke off, nor by the next aggregator; equal ones stay as many", () =>
    withOriginalApi(async (api) => {
      const lines = linesFrom(1, 30).map((line, at) => ({
        ...line,
        ...(at < 9 ? { time: undefined, message: "x" } : {}),
      }));
      const all = lines.map(({ message }) => message);
      const first = new OriginalBuildApi(api, 7);
      await first.putLines(lines.slice(0, 5), never);
      api.breakAfter = 3;
      await expect(first.putLines(lines.slice(5, 20), never)).rejects.toMatchObject({ code: "INTERNAL" });
      expect(messagesOf(api)).toEqual(all.slice(0, 8));
      expect(await first.putLines(lines.slice(5, 20), never)).toMatchObject({ inserted: 12, skipped: 0 });
      expect(await first.putLines(lines.slice(5, 20), never)).toMatchObject({ inserted: 0 });
      expect(await first.cursors(never)).toEqual(new Map([[1, 20]]));
      first.close();
      const second = new OriginalBuildApi(api, 7);
      expect(await second.cursors(never)).toEqual(new Map());
      expect(await second.putLines(lines, never)).toMatchObject({ inserted: 10 });
      second.close();
      expect(messagesOf(api)).toEqual(all);
    }));

  test("of an earlier aggregator are not told again either when a stream breaks off that they are no part of", () =>
    withOriginalApi(async (api) => {
      const lines = linesFrom(1, 20);
      const first = new OriginalBuildApi(api, 7);
      await first.putLines(lines.slice(0, 5), never);
      first.close();
      const second = new OriginalBuildApi(api, 7);
      api.breakAfter = 3;
      await expect(second.putLines(lines, never)).rejects.toMatchObject({ code: "INTERNAL" });
      expect(await second.putLines(lines, never)).toMatchObject({ inserted: 12 });
      second.close();
      expect(messagesOf(api)).toEqual(lines.map(({ message }) => message));
    }));

  test("are found whatever they say, and those that cannot be kept hold up nothing", () =>
    withOriginalApi(async (api) => {
      const texts = ['},{"logId":3', "[{", 'a "quoted" \\ ö\u{1F600}]', "null\0byte", "", "y".repeat(100_000)];
      const lines = [...texts, "z".repeat(5 * 1024 * 1024)].map((message, at) => ({
        ...linesFrom(at + 1, 1)[0]!,
        message,
      }));
      for (const inserted of [texts.length, 0]) {
        const original = new OriginalBuildApi(api, 7);
        expect(await original.putLines(lines, never)).toMatchObject({ inserted, skipped: 1 });
        original.close();
      }
      expect(messagesOf(api)).toEqual(texts.map((message) => message.replace("\0", "\uFFFD")));
    }));
});

test("a build that has begun, or ended, is not told so again", () =>
  withOriginalApi(async (api) => {
    const original = new OriginalBuildApi(api, 7);
    for (const word of ["Running", "Running", "Failed", "Failed", "Running"] as const)
      await original.putStatus(word, {}, never);
    expect(build7(api).told).toEqual(["Running", "Failed"]);
  }));

test("what is left of a worker that has served nothing becomes the log of its failed build", () =>
  withOriginalApi(async (api) => {
    for (let time = 0; time < 2; time++) await settle(api, "");
    expect([messagesOf(api), build7(api).told]).toEqual([["it has ended"], ["Failed"]]);
  }));

describe("whose API it is", () => {
  test("is asked once of each, and a build that is not there is told apart", async () => {
    await withOriginalApi(async (api) => {
      const apis = new BuildApis(api);
      await expect(apis.open(99, never)).rejects.toMatchObject({ code: "wharf-unknown-build" });
      for (let time = 0; time < 3; time++) expect(await apis.open(7, never)).toBeInstanceOf(OriginalBuildApi);
      expect(api.unserved).toEqual(["GET /api/build/99/log/cursor", "GET /api/build/7/log/cursor"]);
      // It is known that it is the original: the build is asked for when something is told of it.
      const unknown = await apis.open(99, never);
      await expect(unknown.cursors(never)).rejects.toMatchObject({ code: "wharf-unknown-build" });
      await expect(unknown.putLines(linesFrom(1, 1), never)).rejects.toMatchObject({ code: "wharf-unknown-build" });
    });
    await withRecordingApi(async ({ url, builds }) => {
      builds.known.add(7);
      const apis = new BuildApis({ url });
      await expect(apis.open(99, never)).rejects.toMatchObject({ code: "wharf-unknown-build" });
      expect(await apis.open(7, never)).toBeInstanceOf(BuildApi);
    });
  });

  test("is found out anew when another one is at the address", () =>
    withRecordingApi((before) =>
      withOriginalApi(async (api) => {
        before.builds.known.add(7);
        await worker.print(1, "a\nb\n");
        await worker.end();
        const service = { url: before.url };
        const apis = new BuildApis(service);
        const address = worker.door.address;
        await settle(api, address, apis);
        expect(await before.messages(7, 1)).toEqual(["a", "b"]);
        service.url = api.url;
        await expect(settle(api, address, apis)).rejects.toMatchObject({ code: "wharf-refused" });
        await settle(api, address, apis);
        expect(messagesOf(api)).toEqual(["a", "b"]);
      }),
    ));

  test("is nobody's where something else answers", () =>
    withProvisioner(async (url) => {
      const opening = new BuildApis({ url }).open(7, never);
      await expect(opening).rejects.toMatchObject({
        code: "wharf-refused",
        message: expect.stringContaining("there is no wharf-api at") as unknown,
      });
    }, 404));
});
