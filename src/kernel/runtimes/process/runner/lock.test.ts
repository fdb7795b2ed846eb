import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../testing/index.ts";
import { acquireLock, holderOf } from "./lock.ts";
import { identityOf } from "#lib/base/index.node.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let path: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory.path, "runner.lock");
});
afterEach(() => directory.remove());

const own = identityOf(process.pid);
const dead = { ...own, startTicks: "1" };
const leave = (generation: number, text: string) => writeFile(`${path}.${generation}`, text);
const files = async () => (await readdir(directory.path)).sort();

test("a lock keeps others out while its holder lives, and tells who that is", async () => {
  expect(await holderOf(path)).toBeUndefined();
  expect(await acquireLock(path)).toBeDefined();
  expect(await acquireLock(path)).toBeUndefined();
  expect(await holderOf(path)).toEqual(own);
});

test("a released lock is free", async () => {
  const lock = await acquireLock(path);
  await lock?.release();
  expect(await holderOf(path)).toBeUndefined();
  expect(await acquireLock(path)).toBeDefined();
});

test.each([
  ["a process that is gone", JSON.stringify({ ...own, pid: 2 ** 30 })],
  ["a process whose number is another's now", JSON.stringify(dead)],
  ["a process before the machine was started", JSON.stringify({ ...own, boot: "another" })],
  ["a process that has no start time", JSON.stringify({ pid: process.pid })],
  ["nobody, because a power cut took the text", ""],
  ["nobody, because a power cut left zeros", "\0\0\0\0"],
  ["nobody, because it is half written", '{"pid":12'],
  ["nobody, because it is something else", '["pid"]'],
])("a lock of %s is taken over", async (_name, text) => {
  await leave(1, text);
  expect(await acquireLock(path)).toBeDefined();
  expect(await holderOf(path)).toEqual(own);
  expect(await acquireLock(path)).toBeUndefined();
});

test("of many that find a dead holder one takes over, again and again", async () => {
  for (let round = 1; round <= 15; round++) {
    const locks = await Promise.all(Array.from({ length: 12 }, () => acquireLock(path)));
    expect(locks.filter((lock) => lock !== undefined)).toHaveLength(1);
    const [newest] = (await files()).slice(-1);
    await writeFile(join(directory.path, newest ?? ""), JSON.stringify(dead));
  }
});

test("who looked long ago cannot take away what somebody else has taken since", async () => {
  await leave(1, JSON.stringify(dead));
  // As it is for somebody who saw the dead first holder, while a second came and went and a third has the lock.
  await leave(3, JSON.stringify(own));
  expect(await acquireLock(path)).toBeUndefined();
  expect(await holderOf(path)).toEqual(own);
});

test("nothing but the newest holder's file is left", async () => {
  await leave(1, JSON.stringify(dead));
  await leave(2, JSON.stringify(dead));
  await leave(10, JSON.stringify(dead));
  await acquireLock(path);
  expect(await files()).toEqual(["runner.lock.11"]);
  await acquireLock(path);
  expect(await files()).toEqual(["runner.lock.11"]);
});

test("other files of the directory are not taken for locks", async () => {
  for (const name of [
    "runner.lock",
    "runner.lock.0",
    "runner.lock.x",
    "runner.lock.1x",
    "runner.locked.5",
    "journal",
  ]) {
    await writeFile(join(directory.path, name), JSON.stringify(own));
  }
  expect(await acquireLock(path)).toBeDefined();
  expect(await files()).toHaveLength(7);
  expect(await readFile(join(directory.path, "runner.lock"), "utf8")).toBe(JSON.stringify(own));
});

test("a directory that is not there is told", async () => {
  await expect(acquireLock(join(directory.path, "none", "lock"))).rejects.toMatchObject({ code: "ENOENT" });
});
