import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Clock, FakeClock } from "#lib/base/index.ts";
import { shellTask, temporaryDirectory } from "../../testing/index.ts";
import { MountPoints } from "./mount-points.ts";
import { type Pipe, PipePool } from "./pipe-pool.ts";
import { spawnTask } from "./task-process.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => directory.remove());

/** A clock whose timers are over when the test says so, which is how a process finds them that has stood still. */
function standingClock() {
  const timers: (() => void)[] = [];
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(_delay, run) {
      timers.push(run);
      return () => undefined;
    },
  };
  return { clock, timers };
}

/** Pipes whose output has come, and is read when the test says so. */
function unreadPipes() {
  const outputs: Socket[] = [];
  const acquire = (): Promise<Pipe> => {
    const output = new Socket();
    outputs.push(output);
    return Promise.resolve({
      output,
      descriptor: openSync("/dev/null", "w"),
      name: "0",
      release: () => output.destroy(),
    });
  };
  const read = (text: string) => {
    outputs[0]?.push(text);
    for (const output of outputs) output.push(null);
  };
  return { pipes: { acquire } as unknown as PipePool, read };
}

test("what a task has printed is not lost when its runner stands still at the task's end for longer than late output is waited for", async () => {
  const { clock, timers } = standingClock();
  const { pipes, read } = unreadPipes();
  const task = shellTask(directory.path, "a/main/0", "exit 3");
  const context = { clock, pipes, namespaceTools: () => Promise.resolve("none"), mountPoints: new MountPoints() };
  const spawned = await spawnTask(task, context, () => Promise.resolve());
  if (!("ended" in spawned)) throw new Error("it did not start");
  await expect.poll(() => timers.length).toBe(1);
  timers[0]?.();
  await new FakeClock().settle();
  read("its last words\n");
  expect(await spawned.ended).toMatchObject({ kind: "exited", code: 3 });
  expect(await readFile(task.logPath, "utf8")).toContain("its last words");
});
