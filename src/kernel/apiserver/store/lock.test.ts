import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { identityOf } from "#lib/base/index.node.ts";
import { lockDirectory, rightToRemove } from "./lock.ts";
import { withDirectory } from "./test-objects.ts";

const write = (directory: string, owner: unknown): Promise<void> =>
  writeFile(join(directory, "lock"), typeof owner === "string" ? owner : JSON.stringify(owner));

/** The pid of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", "0"]);
  await once(child, "exit");
  return child.pid ?? 0;
}

describe("the lock of a data directory", () => {
  test("is held by one and free after release", () =>
    withDirectory(async (directory) => {
      const lock = await lockDirectory(directory);
      await expect(lockDirectory(directory)).rejects.toMatchObject({ code: "store-locked", pid: process.pid });
      await lock.release();
      await (await lockDirectory(directory)).release();
      expect(await readdir(directory)).toEqual([]);
    }));

  test("names its owner's process and address to whoever comes second", () =>
    withDirectory(async (directory) => {
      const lock = await lockDirectory(directory);
      await lock.announce("https://127.0.0.1:6443");
      await expect(lockDirectory(directory)).rejects.toMatchObject({
        pid: process.pid,
        url: "https://127.0.0.1:6443",
        message: expect.stringContaining("https://127.0.0.1:6443"),
      });
      await lock.release();
    }));

  test("creates the directory it is for", () =>
    withDirectory(async (directory) => {
      const lock = await lockDirectory(join(directory, "new", "data"));
      await lock.release();
    }));

  test("of a dead process is taken over", () =>
    withDirectory(async (directory) => {
      await write(directory, { pid: await deadPid(), started: "then", url: "https://old" });
      const lock = await lockDirectory(directory);
      expect(JSON.parse(await readFile(join(directory, "lock"), "utf8"))).toMatchObject({ pid: process.pid });
      await lock.release();
    }));

  test("of a number that another program has now is taken over", () =>
    withDirectory(async (directory) => {
      await write(directory, { ...identityOf(process.pid), startTicks: "1" });
      await (await lockDirectory(directory)).release();
    }));

  test.each(["", "{", "null", "[]", '{"pid":"1"}', '{"startTicks":"1"}'])("that says %j protects nothing", (text) =>
    withDirectory(async (directory) => {
      await write(directory, text);
      await (await lockDirectory(directory)).release();
    }),
  );

  test("of a living process is respected", () =>
    withDirectory(async (directory) => {
      const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
      try {
        // Without its start, as on a system that does not tell, its life alone counts.
        for (const owner of [identityOf(child.pid ?? 0), { pid: child.pid }]) {
          await write(directory, owner);
          await expect(lockDirectory(directory)).rejects.toMatchObject({ code: "store-locked", pid: child.pid });
        }
      } finally {
        child.kill();
        await once(child, "exit");
      }
    }));

  test("goes to exactly one of many that find it stale at the same time, whenever they come", () =>
    withDirectory(async (directory) => {
      const pid = await deadPid();
      for (let round = 0; round < 40; round++) {
        await write(directory, { pid, started: `${round}` });
        const contenders = Array.from({ length: 12 }, async (_, at) => {
          await delay(at % 4);
          return await lockDirectory(directory);
        });
        const outcomes = await Promise.allSettled(contenders);
        const held = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
        expect(held).toHaveLength(1);
        await held[0]?.release();
        expect(await readdir(directory)).toEqual([]);
      }
    }));

  test("that a process died over while it took it is taken over from there", () =>
    withDirectory(async (directory) => {
      const pid = await deadPid();
      await write(directory, { pid, started: "first" });
      // What three dead processes have left: each held the right to remove what the one before had left.
      let deepest = join(directory, "lock");
      for (let depth = 0; depth < 3; depth++) {
        deepest = rightToRemove(deepest, await readFile(deepest, "utf8"));
        await writeFile(deepest, JSON.stringify({ pid, started: `${depth}` }));
      }
      expect(await readdir(directory)).toHaveLength(4);
      const lock = await lockDirectory(directory);
      expect(await readdir(directory)).toEqual(["lock"]);
      await lock.release();
    }));

  test("that somebody else holds by now is not released", () =>
    withDirectory(async (directory) => {
      const lock = await lockDirectory(directory);
      await write(directory, { pid: 1, started: "init" });
      await lock.release();
      expect(await readFile(join(directory, "lock"), "utf8")).toContain("init");
    }));
});
