import { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryDirectory } from "../../testing/index.ts";
import { closeWritingEnd, PipePool } from "./pipe-pool.ts";

test("a machine that could start no program at first gives pipes when it can", async () => {
  const directory = await temporaryDirectory();
  onTestFinished(() => directory.remove());
  // Without memory Node throws in the call itself.
  const spawn = vi.spyOn(ChildProcess.prototype as unknown as { spawn: () => void }, "spawn");
  onTestFinished(() => spawn.mockRestore());
  const full = (): never => {
    throw Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
  };
  spawn.mockImplementationOnce(full).mockImplementationOnce(full);
  const pool = await PipePool.create(join(directory.path, "pipes"));
  await expect(pool.acquire()).rejects.toMatchObject({ code: "pipes-failed" });
  const pipe = await pool.acquire();
  closeWritingEnd(pipe);
  pipe.release(true);
  await pool.close();
});

test("a pipe whose writer outlives its reader keeps what was written, for the pool of the next process", async () => {
  const directory = await temporaryDirectory();
  onTestFinished(() => directory.remove());
  const path = join(directory.path, "pipes");
  const first = await PipePool.create(path);
  const [kept, other] = [await first.acquire({ outlives: true }), await first.acquire()];
  kept.output.destroy();
  other.output.destroy();
  await Promise.all([once(kept.output, "close"), once(other.output, "close")]);
  writeSync(kept.descriptor, "while nobody read");
  await first.close();
  const second = await PipePool.create(path, [kept.name]);
  expect(() => second.reopen(other.name)).toThrow("ENOENT");
  const { output, wasHeld } = second.reopen(kept.name);
  expect(wasHeld).toBe(true);
  const text = readAll(output);
  closeWritingEnd(kept);
  expect(await text).toBe("while nobody read");
  const fresh = await Promise.all(Array.from({ length: 20 }, () => second.acquire()));
  expect(fresh.map(({ name }) => name)).not.toContain(kept.name);
  for (const pipe of [other, ...fresh]) closeWritingEnd(pipe);
  for (const pipe of fresh) pipe.release(true);
  await second.close();
});

test("a pipe that nobody has open any more ends at once when it is opened again", async () => {
  const directory = await temporaryDirectory();
  onTestFinished(() => directory.remove());
  const path = join(directory.path, "pipes");
  const first = await PipePool.create(path);
  const pipe = await first.acquire();
  closeWritingEnd(pipe);
  expect(await readAll(pipe.output)).toBe("");
  const second = await PipePool.create(path, [pipe.name]);
  const { output, wasHeld } = second.reopen(pipe.name);
  expect(wasHeld).toBe(false);
  expect(await readAll(output)).toBe("");
  await Promise.all([first.close(), second.close()]);
});

async function readAll(output: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of output) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
