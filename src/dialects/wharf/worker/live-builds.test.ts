import { thisProcess } from "#lib/base/index.node.ts";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clearDeadBuilds, noteBuild } from "./live-builds.ts";

let root: string;
let told: string[];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-live-"));
  told = [];
});
afterEach(() => rm(root, { recursive: true }));

const clear = () => clearDeadBuilds(root, 0, (message) => told.push(message));
const notes = () => readdir(join(root, "running"));

/** The note of a process that has ended: this one's number, at another time. */
async function noteDead(name: string, directory: string): Promise<void> {
  const owner = { ...thisProcess(), host: hostname(), startTime: "1", boot: "0" };
  await mkdir(join(root, "running"), { recursive: true });
  await writeFile(join(root, "running", name), JSON.stringify({ owner, directory }));
}

test("without notes there is nothing to clear; where notes cannot be read, that is told", async () => {
  await clear();
  expect(told).toEqual([]);
  await writeFile(join(root, "running"), "no directory");
  await clear();
  expect(told).toEqual([expect.stringContaining("cannot look for leftovers of former builds: ENOTDIR")]);
});

test("what is gone is forgotten, what lives is left, and what cannot be cleared is told and kept for the next one", async () => {
  const broken = join(root, "broken");
  await mkdir(broken);
  await writeFile(join(broken, "build.json"), "{ half");
  await noteDead("gone.json", join(root, "gone"));
  await noteDead("broken.json", broken);
  const takeBack = await noteBuild(root, join(root, "lives"));
  await clear();
  expect(told).toEqual([expect.stringContaining(`cannot remove the leftovers in ${broken}: `)]);
  expect(await notes()).toHaveLength(2);
  await takeBack();
  expect(await notes()).toEqual(["broken.json"]);
});

test("a note that was begun by a worker that is dead is taken away, and no other one", async () => {
  const { pid, startTime = "0", host } = thisProcess();
  const dead = `.${pid}-1@${host}`;
  const others = [`.${pid}-${startTime}@${host}`, `.${pid}-1@elsewhere`];
  await mkdir(join(root, "running"));
  for (const name of [dead, ...others]) await writeFile(join(root, "running", name), '{"owner":{"ho');
  await clear();
  expect((await notes()).toSorted()).toEqual(others.toSorted());
  expect(told).toEqual([]);
});
