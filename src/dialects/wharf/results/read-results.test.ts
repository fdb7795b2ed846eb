import { isDead, thisProcess } from "#lib/base/index.node.ts";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { followLogs } from "./follow-logs.ts";
import { linesOf } from "./log-line.ts";
import { readResults } from "./read-results.ts";
import { createResults } from "./results-store.ts";
import { newBuild } from "./testing/new-build.ts";

const clock = new FakeClock(Date.parse("2026-01-31T12:00:00Z"));
let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-results-"));
});
afterEach(() => rm(directory, { recursive: true }));

async function put(path: string, content: unknown): Promise<void> {
  const file = join(directory, path);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
}

const read = () => readResults(directory, clock);

async function messages(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const batch of followLogs(await read()))
    for (const { id, message, time } of linesOf(batch))
      found.push(`${batch.stepId}/${id} ${time === undefined ? "" : time.nanos} ${message}`);
  return found;
}

test("logs of earlier workers are read under each of their names", async () => {
  await put("steps/1/output.log", "2021-11-24T11:22:00.000000001Z one\nno time\n");
  await put("steps/2/logs.log", "2021-11-24T11:22:00Z two");
  await put("steps/10.log", "2021-11-24T11:22:00.5+01:00 ten\n");
  await put("steps/other/output.log", "none\n");
  expect(await messages()).toEqual(["1/1 1 one", "1/2  no time", "2/1 0 two", "10/1 500000000 ten"]);
});

test("statuses of earlier workers are read as words and as numbers, and numbered without gaps", async () => {
  const timestamp = "2021-11-24T11:22:00.000Z";
  // As in RFC-0025: of a key that is there twice the last counts.
  const updates = `{"statusUpdates":[${[0, 1, 3]
    .map((status, at) => `{"statusId":${[1, 2, 4][at]},"timestamp":"${timestamp}","statusId":${status}}`)
    .join(",")}]}`;
  await put("steps/1/status.json", updates);
  await put("steps/2/status.json", { lastId: 1, statusUpdates: [{ updateId: 1, timestamp, status: "Cancelled" }] });
  const { steps, build } = await read();
  expect(steps.map((step) => step.updates.map(({ updateId, status }) => `${updateId} ${status}`))).toEqual([
    ["1 Scheduling", "2 Running", "3 Success"],
    ["1 Cancelled"],
  ]);
  expect(build.steps.map(({ status }) => status)).toEqual(["Success", "Cancelled"]);
});

test("artifacts of earlier workers get ids of the build, and the size that they have", async () => {
  await put("steps/1/artifacts.json", { artifactEvents: [{ artifactId: 1, name: "a", path: "artifacts/1_a" }] });
  await put("steps/1/artifacts/1_a", "abc");
  await put("steps/2/artifacts.json", {
    artifacts: [
      { artifactId: 1, name: "b" },
      { artifactId: 2, name: "lost" },
    ],
  });
  await put("steps/2/artifacts/1_b", "");
  const { steps } = await read();
  expect(steps.flatMap(({ artifacts }) => artifacts)).toMatchObject([
    { artifactId: 1, stepId: 1, name: "a", size: 3 },
    { artifactId: 2, stepId: 2, name: "b", size: 0, path: "artifacts/1_b" },
  ]);
});

test.each(["../../secret", "/etc/passwd", "artifacts/..", "artifacts/../status.json", "artifacts/a/b", 7])(
  "an artifact at %s is refused",
  async (path) => {
    await put("steps/1/artifacts.json", { artifacts: [{ artifactId: 1, name: "a", path }] });
    await expect(read()).rejects.toMatchObject({ code: "results-invalid" });
  },
);

test("links in a store lead nowhere", async () => {
  await put("secret", "secret\n");
  await put("steps/1/artifacts.json", { artifacts: [{ artifactId: 1, name: "a", path: "artifacts/1_a" }] });
  await mkdir(join(directory, "steps/1/artifacts"));
  await symlink("../../../secret", join(directory, "steps/1/artifacts/1_a"));
  await symlink("../../secret", join(directory, "steps/1/output.log"));
  expect((await read()).steps[0]?.artifacts).toEqual([]);
  expect(await messages()).toEqual([]);
});

test.each([
  ["build.json", "{", /build\.json: .*JSON/],
  ["build.json", "[]", /build\.json: expected an object, found \[\]/],
  ["build.json", '{"version":2}', /build\.json: version: expected 1, found 2/],
  ["build.json", '{"version":1}', /build\.json: expected steps with a number/],
  ["steps/1/status.json", '{"statusUpdates":{}}', /status\.json: statusUpdates: expected a list, found \{\}/],
  ["steps/1/status.json", '{"statusUpdates":[{"status":"Gone"}]}', /statusUpdates\[0\]\.status: .* found "Gone"/],
])("a %s of %s is told with its place", async (path, content, expected) => {
  await put(path, content);
  await expect(read()).rejects.toMatchObject({
    code: "results-invalid",
    message: expect.stringMatching(expected) as string,
  });
});

test("a directory without results is told", async () => {
  await expect(read()).rejects.toThrow("expected the results of a build, found neither build.json nor steps");
});

test("the store of a worker that has died is sealed: what had begun has failed, half a line is gone", async () => {
  const store = await createResults(join(directory, "7"), newBuild(3), { clock });
  await store.setStageStatus(1, "Running");
  for (const stepId of [1, 2]) await store.setStatus(stepId, "Running");
  const writer = await store.openLog(1);
  writer.append("stdout", Buffer.from("whole\n"));
  await store.setStatus(1, "Success", 0);
  const other = await store.openLog(2);
  other.append("stdout", Buffer.from("whole\n"));
  await expect.poll(() => store.logs[1]?.lines).toBe(1);
  const log = join(directory, "7/steps/2/output.log");
  await writeFile(log, `${await readFile(log, "utf8")}2026-01-31T12:00:0`);
  // As another process, which has ended, would have left it.
  const file = join(directory, "7/build.json");
  const build = JSON.parse(await readFile(file, "utf8")) as { owner: object };
  await writeFile(file, JSON.stringify({ ...build, owner: { ...build.owner, startTime: "1" } }));
  await writeFile(`${file}.next`, "{");
  const [first, second] = await Promise.all([1, 2].map(() => readResults(join(directory, "7"), clock)));
  expect(first?.build).toMatchObject({ status: "Failed", reason: "WorkerCrashed", frozen: true });
  expect(first?.build.steps.map(({ status }) => status)).toEqual(["Success", "Failed", "None"]);
  expect(first?.build.stages.map(({ status }) => status)).toEqual(["Failed"]);
  expect(second?.build).toEqual(first?.build);
  expect(first?.steps.map(({ updates }) => updates.map(({ status }) => status))).toEqual([
    ["None", "Running", "Success"],
    ["None", "Running", "Failed"],
    ["None"],
  ]);
  expect(await readFile(log, "utf8")).toMatch(/^\S+ whole\n$/);
  await other.close();
});

test("only of its own machine and of a process that has ended is a worker known to be dead", () => {
  const me = thisProcess();
  expect(isDead(me)).toBe(false);
  expect(isDead({ ...me, startTime: "1" })).toBe(true);
  expect(isDead({ ...me, boot: "another" })).toBe(true);
  expect(isDead({ ...me, host: `not-${hostname()}`, startTime: "1" })).toBe(false);
  expect(isDead({ host: me.host, pid: me.pid })).toBe(false);
  expect(isDead({ host: me.host, pid: 2 ** 22 + 1 })).toBe(true);
});
