import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Clock, FakeClock, systemClock } from "#lib/base/index.ts";
import type { Task } from "../../contract.ts";
import { shellTask, temporaryDirectory } from "../../testing/index.ts";
import type { Begun } from "./follow-task.ts";
import { MountPoints } from "./mount-points.ts";
import { type Pipe, PipePool } from "./pipe-pool.ts";
import { findSupervisor } from "./supervisor.ts";
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
  const acquire = (): Pipe => {
    const output = new Socket();
    outputs.push(output);
    return { output, descriptor: openSync("/dev/null", "w"), name: "0", release: () => output.destroy() };
  };
  const acquireAll = (...all: readonly unknown[]) => Promise.resolve(all.map(acquire));
  const read = (text: string) => {
    outputs[0]?.push(text);
    for (const output of outputs) output.push(null);
  };
  return { pipes: { acquireAll } as unknown as PipePool, read };
}

const supervisor = findSupervisor();

test.each([
  ["with a supervisor", supervisor],
  ["without one", undefined],
])(
  "%s a program ends, is signalled, cannot be started and has no descriptors of ours, all the same",
  async (_name, found) => {
    const pipes = await PipePool.create(`${directory.path}/pipes`);
    const more = found === undefined ? {} : { supervisor: found };
    const tools = { namespaceTools: () => Promise.resolve("none"), mountPoints: new MountPoints() };
    const context = { clock: systemClock, pipes, ...tools, ...more };
    let tasks = 0;
    const start = (command: Task["command"]) => {
      const noted: Begun[] = [];
      const task = { ...shellTask(directory.path, `t${tasks++}`, ""), command };
      const spawned = spawnTask(task, context, async (begun) => void noted.push(begun));
      return spawned.then((result) => ({ task, result, noted }));
    };
    const ends = async (script: string) => {
      const { task, result, noted } = await start(["sh", "-c", script]);
      if (!("ended" in result)) throw new Error("it did not start");
      expect(noted).toMatchObject([{ pid: result.pid, startedAt: result.startedAt }]);
      expect(noted[0]?.handover !== undefined).toBe(found !== undefined);
      return { outcome: await result.ended, log: await readFile(task.logPath, "utf8").catch(() => "") };
    };
    expect((await ends("exit 143")).outcome).toMatchObject({ kind: "exited", code: 143 });
    expect((await ends("exit 143")).outcome).not.toHaveProperty("signal");
    expect((await ends("kill -TERM $$")).outcome).toMatchObject({ kind: "exited", code: 143, signal: "SIGTERM" });
    const { log } = await ends("ls -l /proc/$$/fd");
    expect([log.match(/\/dev\/null/g), log.match(/\/pipes\//g)]).toMatchObject([{ length: 1 }, { length: 2 }]);
    expect((await start(["no-such-program"])).result).toMatchObject({ kind: "not-started", code: 127 });
    expect((await start([directory.path])).result).toMatchObject({
      kind: "not-started",
      code: 126,
      message: `program ${directory.path} may not be executed`,
    });
    const { result } = await start(["sleep", "3600"]);
    if (!("ended" in result)) throw new Error("it did not start");
    result.signal("SIGTERM");
    expect(await result.ended).toMatchObject({ code: 143, signal: "SIGTERM" });
    result.signal("SIGKILL");
    await pipes.close();
  },
);

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
