import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { pruneResults, type Retention } from "./prune.ts";
import { createResults } from "./results-store.ts";
import { newBuild } from "./testing/new-build.ts";

const day = 24 * 3_600_000;
const start = Date.parse("2026-01-31T12:00:00Z");
let clock = new FakeClock(start);
let builds = "";
beforeEach(async () => {
  clock = new FakeClock(start);
  builds = await mkdtemp(join(tmpdir(), "slipway-prune-"));
});
afterEach(() => rm(builds, { recursive: true }));

/** A build a day, the first of them the oldest. */
async function run(count: number): Promise<void> {
  for (let at = 1; at <= count; at++) {
    const store = await createResults(join(builds, `${at}`), newBuild(1), { clock });
    await store.finish({ status: "Success" });
    await store.freeze();
    await clock.advance(day);
  }
}

const prune = (retention: Retention) => pruneResults(builds, retention, { now: clock.now(), log: silentLog });
const left = async () => (await readdir(builds)).toSorted();

test("the youngest stay, and of the others those that are not old enough", async () => {
  await run(5);
  expect(await prune({ keep: 2, olderThan: 4 * day })).toEqual([join(builds, "2"), join(builds, "1")]);
  expect(await left()).toEqual(["3", "4", "5"]);
  expect(await prune({ keep: 1 })).toHaveLength(2);
  expect(await prune({ keep: 1 })).toEqual([]);
  expect(await left()).toEqual(["5"]);
});

test("what runs, what is no build and what a link leads to are left alone; what was half removed goes", async () => {
  await createResults(join(builds, "running"), newBuild(1), { clock });
  await mkdir(join(builds, "notes"));
  await mkdir(join(builds, ".removed-1"));
  await mkdir(join(builds, "broken"));
  await writeFile(join(builds, "broken/build.json"), "{");
  await run(1);
  await symlink("1", join(builds, "link"));
  expect(await prune({ keep: 0 })).toEqual([join(builds, "1")]);
  expect(await left()).toEqual(["broken", "link", "notes", "running"]);
});

test("a build whose worker has died is sealed, and is as old as that", async () => {
  await createResults(join(builds, "1"), newBuild(1), { clock });
  const file = join(builds, "1/build.json");
  const build = JSON.parse(await readFile(file, "utf8")) as { owner: object };
  await writeFile(file, JSON.stringify({ ...build, owner: { ...build.owner, startTime: "1" } }));
  await clock.advance(day);
  expect(await prune({ keep: 0, olderThan: day })).toEqual([]);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ frozen: true, reason: "WorkerCrashed" });
  await clock.advance(day);
  expect(await prune({ keep: 0, olderThan: day })).toEqual([join(builds, "1")]);
});

test("no directory, nothing to do", async () => {
  expect(await pruneResults(join(builds, "missing"), { keep: 0 }, { now: 0, log: silentLog })).toEqual([]);
});
