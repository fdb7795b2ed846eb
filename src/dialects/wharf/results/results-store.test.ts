import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, FakeClock, SlipwayError } from "#lib/base/index.ts";
import { artifactFiles } from "./artifact-files.ts";
import { followEvents } from "./follow-events.ts";
import { followLogs } from "./follow-logs.ts";
import { linesOf } from "./log-line.ts";
import { readResults } from "./read-results.ts";
import type { Results } from "./results.ts";
import { createResults, type ResultsOptions, type ResultsStore } from "./results-store.ts";
import { newBuild } from "./testing/new-build.ts";

const clock = new FakeClock(Date.parse("2026-01-31T12:00:00Z"));
let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-results-"));
});
afterEach(() => rm(directory, { recursive: true }));

const create = (options: Partial<ResultsOptions> = {}): Promise<ResultsStore> =>
  createResults(join(directory, "7"), newBuild(2), { clock, ...options });

const json = async (path: string): Promise<unknown> => JSON.parse(await readFile(join(directory, "7", path), "utf8"));

async function eventsOf(results: Results): Promise<readonly string[]> {
  const events: string[] = [];
  for await (const { stepId, event } of followEvents(results, ({ updates }) => updates))
    events.push(`${stepId}/${event.updateId} ${event.status}`);
  return events;
}

async function artifactsOf(results: Results): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { stepId, event } of followEvents(results, ({ artifacts }) => artifacts))
    names.push(`${stepId}/${event.artifactId} ${event.name}`);
  return names;
}

async function messagesOf(results: Results): Promise<readonly string[]> {
  const messages: string[] = [];
  for await (const batch of followLogs(results))
    for (const { id, message } of linesOf(batch)) messages.push(`${batch.stepId}/${id} ${message}`);
  return messages;
}

const text = (name: string, content: string) => ({
  name,
  async *open() {
    yield Buffer.from(content);
  },
});

/** One of the names is taken, and one step fails. */
async function runBuild(store: ResultsStore): Promise<void> {
  for (const stepId of [1, 2]) {
    for (const status of ["Scheduling", "Running", "Running"] as const) await store.setStatus(stepId, status);
    const writer = await store.openLog(stepId);
    writer.append("stdout", Buffer.from("hello\nlast"));
    await store.addArtifacts(stepId, [text("out/b.txt", "b"), text("c.png", "")]);
    await store.setStatus(stepId, stepId === 1 ? "Success" : "Failed", stepId - 1);
    await store.setStatus(stepId, "Cancelled");
  }
  await store.setStageStatus(1, "Failed");
  expect(await store.finish({ status: "Failed" })).toEqual({ status: "Failed" });
  await store.freeze();
}

const allEvents = [1, 2].flatMap((step) =>
  ["None", "Scheduling", "Running", step === 1 ? "Success" : "Failed"].map(
    (status, at) => `${step}/${at + 1} ${status}`,
  ),
);

test("a build leaves its files, and nothing of its work", async () => {
  const store = await create();
  await runBuild(store);
  expect((await readdir(join(directory, "7"))).toSorted()).toEqual(["build.json", "steps"]);
  expect((await readdir(join(directory, "7/steps/1"))).toSorted()).toEqual([
    "artifacts",
    "artifacts.json",
    "output.log",
    "status.json",
  ]);
  const at = "2026-01-31T12:00:00.000Z";
  expect(await readFile(join(directory, "7/steps/1/output.log"), "utf8")).toBe(`${at} hello\n${at} last\n`);
  expect(await json("steps/1/status.json")).toEqual({
    lastId: 4,
    statusUpdates: ["None", "Scheduling", "Running", "Success"].map((status, index) => ({
      updateId: index + 1,
      timestamp: at,
      status,
    })),
  });
  expect(await json("steps/2/artifacts.json")).toEqual({
    lastId: 4,
    artifacts: [
      {
        artifactId: 3,
        stepId: 2,
        name: "out/b.txt",
        path: "artifacts/3_b.txt",
        size: 1,
        sha256: createHash("sha256").update("b").digest("hex"),
        contentType: "text/plain",
        testResults: false,
      },
      expect.objectContaining({ artifactId: 4, path: "artifacts/4_c.png", size: 0, contentType: "image/png" }),
    ],
  });
  expect(await json("build.json")).toMatchObject({
    version: 1,
    buildId: 7,
    status: "Failed",
    frozen: true,
    finishedAt: at,
    owner: { pid: process.pid },
    stages: [{ stageId: 1, name: "build", runsIf: "success", steps: [1, 2], status: "Failed" }],
    steps: [
      { stepId: 1, status: "Success", exitCode: 0, startedAt: at, finishedAt: at },
      { stepId: 2, status: "Failed", exitCode: 1 },
    ],
  });
  expect((await lstat(join(directory, "7"))).mode & 0o777).toBe(0o700);
});

test("who follows a build while it runs sees what who reads it afterwards sees", async () => {
  const store = await create();
  const live = [eventsOf(store), artifactsOf(store), messagesOf(store)];
  await runBuild(store);
  const later = await readResults(join(directory, "7"), clock);
  const read = [eventsOf(later), artifactsOf(later), messagesOf(later)];
  const [events, artifacts, messages] = await Promise.all(live.map(async (list) => (await list).toSorted()));
  expect(events).toEqual(allEvents.toSorted());
  expect(artifacts).toEqual(["1/1 out/b.txt", "1/2 c.png", "2/3 out/b.txt", "2/4 c.png"]);
  expect(messages).toEqual(["1/1 hello", "1/2 last", "2/1 hello", "2/2 last"]);
  expect(await Promise.all(read)).toEqual([allEvents, artifacts, messages]);
  expect(later.build).toEqual(store.build);
});

test("freezing ends everything once, for whoever asks, and adds nothing more", async () => {
  const store = await create();
  const writer = await store.openLog(1);
  writer.append("stdout", Buffer.from("begun"));
  await Promise.all([store.freeze(), store.close(), store.freeze()]);
  expect(store.build).toMatchObject({ frozen: true, status: "Failed", reason: "WorkerStopped" });
  await expect(store.openLog(2)).rejects.toThrow("nothing is added any more");
  await expect(store.setStatus(1, "Running")).rejects.toMatchObject({ code: "results-frozen" });
  writer.append("stdout", Buffer.from("dropped\n"));
  expect(await readFile(join(directory, "7/steps/1/output.log"), "utf8")).toMatch(/ begun\n$/);
});

test("a closed store cuts off who has not seen everything, a frozen one does not", async () => {
  const store = await create();
  const writer = await store.openLog(1);
  writer.append("stdout", Buffer.from("x\n".repeat(200_000)));
  const [patient, late] = [followLogs(store), followLogs(store)];
  await patient.next();
  await late.next();
  await store.freeze();
  expect(await patient.next()).toMatchObject({ done: false });
  await store.close();
  await expect(late.next()).rejects.toMatchObject({ code: "results-closed" });
  await patient.return();
});

test("a freeze waits for what was begun before it", async () => {
  const store = await create();
  const arrived = deferred<void>();
  const slow = {
    name: "slow",
    async *open() {
      await arrived.promise;
      yield Buffer.from("slow");
    },
  };
  const adding = store.addArtifacts(1, [slow]);
  const opening = store.openLog(2);
  const freezing = store.freeze();
  arrived.resolve();
  const writer = await opening;
  await freezing;
  writer.append("stdout", Buffer.from("too late\n"));
  await writer.close();
  expect([await adding, await artifactsOf(store), await messagesOf(store)]).toEqual([1, ["1/1 slow"], []]);
  expect(await readFile(join(directory, "7/steps/2/output.log"), "utf8")).toBe("");
});

test("an artifact over a limit is refused and leaves nothing; those before it stay", async () => {
  const store = await create({ limits: { maxFileBytes: 3, maxFiles: 2 } });
  await expect(store.addArtifacts(1, [text("a", "abc"), text("b", "abcd")])).rejects.toMatchObject({
    code: "artifact-limit",
    message: 'artifact "b" of step 1: expected at most 3 bytes, found more',
  });
  await expect(store.addArtifacts(1, [text("b", ""), text("c", "")])).rejects.toThrow("at most 2 files");
  await store.freeze();
  expect(await artifactsOf(store)).toEqual(["1/1 a", "1/2 b"]);
  expect((await readdir(join(directory, "7/steps/1/artifacts"))).toSorted()).toEqual(["1_a", "2_b"]);
});

test("a source that fails half-way leaves nothing, and takes no id", async () => {
  const store = await create();
  const broken = {
    name: "broken",
    async *open() {
      yield Buffer.from("half");
      throw new SlipwayError("gone", "the step is gone");
    },
  };
  await expect(store.addArtifacts(1, [broken])).rejects.toThrow("the step is gone");
  await store.addArtifacts(1, [text("whole", "1")]);
  await store.freeze();
  expect(await artifactsOf(store)).toEqual(["1/1 whole"]);
  expect(await readdir(join(directory, "7/steps/1/artifacts"))).toEqual(["1_whole"]);
});

test("files of a step are taken, links only to what lies inside", async () => {
  const root = join(directory, "artifacts");
  await mkdir(join(root, "sub"), { recursive: true });
  await writeFile(join(root, "sub/b.txt"), "b");
  await writeFile(join(root, "a.txt"), "a");
  await writeFile(join(directory, "secret"), "secret");
  await symlink("sub/b.txt", join(root, "inside"));
  await symlink("../secret", join(root, "outside"));
  await symlink("sub", join(root, "folder"));
  await symlink("nowhere", join(root, "broken"));
  await symlink("loop", join(root, "loop"));
  const store = await create();
  expect(await store.addArtifacts(1, artifactFiles(root))).toBe(3);
  expect(await store.addArtifacts(1, artifactFiles(join(directory, "missing")))).toBe(0);
  await store.freeze();
  expect(await artifactsOf(store)).toEqual(["1/1 a.txt", "1/2 inside", "1/3 sub/b.txt"]);
  expect(await readFile(join(directory, "7/steps/1/artifacts/2_inside"), "utf8")).toBe("b");
});

test("results that the disk does not take fail the build, not its steps", async () => {
  const losses: string[] = [];
  const store = await create({ onLoss: ({ message }) => losses.push(message) });
  const step = join(directory, "7/steps/1");
  await rm(step, { recursive: true });
  await store.setStatus(1, "Running");
  await store.setStatus(1, "Success", 0);
  expect(losses).toEqual([expect.stringMatching(/^results of build 7: ENOENT/)]);
  expect(await store.finish({ status: "Success" })).toMatchObject({ status: "Failed", reason: "ResultsLost" });
  await store.freeze();
  expect(await eventsOf(store)).toEqual(["1/1 None", "1/2 Running", "1/3 Success", "2/1 None"]);
  expect(await json("build.json")).toMatchObject({ status: "Failed", reason: "ResultsLost", frozen: true });
});

test("a status that the disk has not taken is in the build before anything is done about it: no newer one can be before it", async () => {
  const known: unknown[] = [];
  const store: ResultsStore = await create({ onLoss: () => known.push(store.build.steps[0]?.status) });
  await rm(join(directory, "7/steps/1"), { recursive: true });
  await Promise.all([store.setStatus(1, "Scheduling"), store.setStatus(1, "Success", 0)]);
  expect(known).toEqual(["Scheduling"]);
  await store.freeze();
  expect(await json("build.json")).toMatchObject({ steps: [{ status: "Success", exitCode: 0 }, { status: "None" }] });
});

test("a worker that lives is asked for its results, not its files", async () => {
  await create();
  await expect(readResults(join(directory, "7"), clock)).rejects.toMatchObject({
    code: "results-live",
    message: expect.stringContaining(`process ${process.pid} of `) as string,
  });
});

test("a directory that cannot be written is told with what to do", async () => {
  const closed = join(directory, "file");
  await writeFile(closed, "");
  await chmod(closed, 0o400);
  await expect(createResults(join(closed, "7"), newBuild(1), { clock })).rejects.toMatchObject({
    code: "results-place",
    hint: "choose another directory with --results-dir",
  });
});

test("scratch that cannot be removed is told, and takes nothing from the results", async () => {
  const told: string[] = [];
  const store = await create({ keepsWork: true, onLeftover: (message) => told.push(message) });
  const work = join(directory, "7/work");
  await rm(work, { recursive: true, force: true });
  await writeFile(work, "no directory");
  await store.finish({ status: "Success" });
  await store.close();
  expect(told).toEqual([expect.stringMatching(/\/7\/work is left, and can be removed: ENOTDIR/)]);
  expect(await json("build.json")).toMatchObject({ status: "Success", frozen: true });
});
