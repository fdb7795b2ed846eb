import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { identityOf } from "./process-identity.node.ts";
import { acquireLock, isHeld, lockOwner, type ProcessLock, rightToRemove } from "./process-lock.node.ts";

async function withDirectory(use: (directory: string, path: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-lock-"));
  try {
    await use(directory, join(directory, "lock"));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The lock; fails if another process holds it. */
async function taken(path: string): Promise<ProcessLock> {
  const outcome = await acquireLock(path);
  if (!isHeld(outcome)) throw new Error(`process ${outcome.pid} holds the lock`);
  return outcome;
}

const write = (path: string, owner: unknown): Promise<void> =>
  writeFile(path, typeof owner === "string" ? owner : JSON.stringify(owner));

/** The pid of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", "0"]);
  await once(child, "exit");
  return child.pid ?? 0;
}

test("a lock has one owner and is free after release", () =>
  withDirectory(async (directory, path) => {
    const lock = await taken(path);
    expect(await acquireLock(path)).toEqual(identityOf(process.pid));
    expect(await lockOwner(path)).toEqual(identityOf(process.pid));
    await lock.release();
    expect(await lockOwner(path)).toBeUndefined();
    await (await taken(path)).release();
    expect(await readdir(directory)).toEqual([]);
  }));

test("a lock names the address of its owner", () =>
  withDirectory(async (_directory, path) => {
    const lock = await taken(path);
    await lock.announce("https://127.0.0.1:6443");
    expect(await acquireLock(path)).toMatchObject({ pid: process.pid, url: "https://127.0.0.1:6443" });
    await lock.release();
    expect(await lockOwner(path)).toBeUndefined();
  }));

test("a lock in a directory that does not exist is refused", () =>
  withDirectory(async (directory) => {
    await expect(acquireLock(join(directory, "none", "lock"))).rejects.toMatchObject({ code: "ENOENT" });
  }));

test("the lock of a dead process is taken over", () =>
  withDirectory(async (_directory, path) => {
    await write(path, { pid: await deadPid(), started: "then", url: "https://old" });
    const lock = await taken(path);
    expect(await lockOwner(path)).toEqual(identityOf(process.pid));
    await lock.release();
  }));

test.each([{ startTicks: "1" }, { boot: "another" }])(
  "the lock of an earlier process with our pid, %j, is taken over",
  (other) =>
    withDirectory(async (_directory, path) => {
      await write(path, { ...identityOf(process.pid), ...other });
      await (await taken(path)).release();
    }),
);

test.each(["", "{", "null", "[]", "\0\0\0\0", '{"pid":"1"}', '{"startTicks":"1"}'])(
  "a lock of %j protects nothing",
  (text) =>
    withDirectory(async (_directory, path) => {
      await write(path, text);
      await (await taken(path)).release();
    }),
);

test("the lock of a living process is respected, and waited for if the process may be ending", () =>
  withDirectory(async (_directory, path) => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
    const ended = once(child, "exit");
    // Without its start time, as on a system that does not tell it, the pid alone counts.
    for (const owner of [identityOf(child.pid ?? 0), { pid: child.pid }]) {
      await write(path, owner);
      expect(await acquireLock(path)).toMatchObject({ pid: child.pid });
    }
    const outcome = acquireLock(path, 60_000);
    child.kill();
    await ended;
    expect(isHeld(await outcome)).toBe(true);
  }));

test("exactly one of many that find a stale lock at the same time takes it", () =>
  withDirectory(async (directory, path) => {
    const pid = await deadPid();
    for (let round = 0; round < 40; round++) {
      await write(path, { pid, started: `${round}` });
      const contenders = Array.from({ length: 12 }, async (_, at) => {
        await delay(at % 4);
        return await acquireLock(path);
      });
      const held = (await Promise.all(contenders)).filter(isHeld);
      expect(held).toHaveLength(1);
      await held[0]?.release();
      expect(await readdir(directory)).toEqual([]);
    }
  }));

test("a lock is taken over from processes that died while they took it over", () =>
  withDirectory(async (directory, path) => {
    const pid = await deadPid();
    await write(path, { pid, started: "first" });
    // Three dead processes: each held the right to remove what the one before had left.
    let deepest = path;
    for (let depth = 0; depth < 3; depth++) {
      deepest = rightToRemove(deepest, await readFile(deepest, "utf8"));
      await writeFile(deepest, JSON.stringify({ pid, started: `${depth}` }));
    }
    expect(await readdir(directory)).toHaveLength(4);
    const lock = await taken(path);
    expect(await readdir(directory)).toEqual(["lock"]);
    await lock.release();
  }));

test("a lock that another process has taken over is not released", () =>
  withDirectory(async (_directory, path) => {
    const lock = await taken(path);
    await write(path, { pid: 1, started: "init" });
    await lock.release();
    expect(await readFile(path, "utf8")).toContain("init");
  }));
