import { spawnSync } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Clock, FakeClock, systemClock } from "#lib/base/index.ts";
import { newDirectory } from "../repository/testing/projects.ts";
import { counterPath, peekBuildId, takeBuildId } from "./build-counter.ts";

let home: string;
let path: string;
beforeEach(async () => {
  home = await newDirectory();
  path = counterPath({ home, platform: "linux", variable: () => undefined });
});
afterEach(() => rm(home, { recursive: true }));

const take = () => takeBuildId(path, systemClock);

test("builds are counted from 1, in the file of the original", async () => {
  expect([await take(), await take(), await take()]).toEqual([1, 2, 3]);
  expect(path).toBe(`${home}/.cache/iver-wharf/wharf-cmd/last-build-id.txt`);
  expect(await readFile(path, "utf8")).toBe("3\n");
  expect(await readdir(dirname(path))).toEqual(["last-build-id.txt"]);
});

test("looking at the next number changes nothing", async () => {
  expect([await peekBuildId(path), await peekBuildId(path)]).toEqual([1, 1]);
  expect(await readdir(home)).toEqual([]);
  await take();
  await writeFile(path, "41");
  expect([await peekBuildId(path), await take()]).toEqual([42, 42]);
});

test("no two builds get one number", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, take));
  expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
});

test.each(["", "x", "-1", "1.5", "1\n2", "9".repeat(20)])("a file that holds %j is told, and left", async (text) => {
  await take();
  await writeFile(path, text);
  await expect(take()).rejects.toMatchObject({ code: "build-counter", message: expect.stringContaining(path) });
  expect(await readFile(path, "utf8")).toBe(text);
});

test("the lock of a process that has died is broken, by however many", async () => {
  await take();
  const { pid } = spawnSync("true");
  await writeFile(`${path}.lock`, JSON.stringify({ host: hostname(), pid }));
  const ids = await Promise.all([take(), take(), take()]);
  expect(ids.toSorted((a, b) => a - b)).toEqual([2, 3, 4]);
});

test("a process that stood still while it waited for a lock has not waited for it", async () => {
  await take();
  const holders = [1, 2, 3].map((pid) => JSON.stringify({ host: "another.machine", pid }));
  const next = async () => {
    const holder = holders.shift();
    await (holder === undefined ? rm(`${path}.lock`) : writeFile(`${path}.lock`, holder));
  };
  await next();
  let now = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    after(delay, run) {
      // Meanwhile it was let go of, and somebody else has it.
      now += 60_000;
      return systemClock.after(delay, () => void next().then(run));
    },
  };
  expect(await takeBuildId(path, clock)).toBe(2);
});

test("the lock of one that lives is waited for, and told when that takes too long", async () => {
  await take();
  const clock = new FakeClock(0);
  await writeFile(`${path}.lock`, JSON.stringify({ host: "another.machine", pid: 1 }));
  const waiting = takeBuildId(path, clock);
  const told = expect(waiting).rejects.toThrow(`${path}.lock is held by another process for more than 10 seconds`);
  const ended = waiting.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([ended, clock.advance(1000).then(() => false)])));
  await told;
  await rm(`${path}.lock`);
  expect(await take()).toBe(2);
});
