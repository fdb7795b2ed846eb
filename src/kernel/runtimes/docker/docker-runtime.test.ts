import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { readLogs } from "#kernel/streams/index.ts";
import { containerTask, plainSandbox, plainSetup, temporaryDirectory } from "../testing/index.ts";
import { ScriptedEngine } from "../testing/scripted-engine.ts";
import type { Runtime, Task } from "../contract.ts";
import { createDockerRuntime } from "./docker-runtime.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let clock: FakeClock;
let engine: ScriptedEngine;
let runtime: Runtime;
let task: Task;

beforeEach(async () => {
  directory = await temporaryDirectory();
  clock = new FakeClock();
  const path = join(directory.path, "engine.sock");
  engine = new ScriptedEngine(path);
  runtime = createDockerRuntime({
    address: { kind: "socket", path },
    version: "20.10",
    store: "store",
    owner: "test",
    clock,
    log: silentLog,
  });
  task = containerTask(directory.path, "pod/main/0", "true", plainSetup("image", "box"));
});
afterEach(async () => {
  await runtime.close();
  await engine.close();
  await directory.remove();
});

/** Lets time pass until it holds: what goes over sockets has its own time. */
const until = (look: () => unknown, wanted: unknown = true) =>
  expect
    .poll(async () => {
      await clock.advance(100);
      return look();
    })
    .toEqual(wanted);

async function ready(): Promise<void> {
  await engine.listen();
  await until(() => runtime.trouble?.() === undefined);
  await runtime.containers?.openSandbox(plainSandbox("box", { hostNetwork: true }));
}

const name = (): string => engine.nameOf(task.id);
const phase = () => runtime.find(task.id)?.state.phase;
const kills = () => engine.asked.filter((what) => what.includes(`${name()}/kill`)).map((what) => what.split("?")[1]);

async function logOf({ logPath }: Task): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(logPath)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("a task's output and end are told", async () => {
  await ready();
  await runtime.start(task);
  engine.print(name(), "one\n");
  engine.exit(name());
  await until(phase, "ended");
  expect(await logOf(task)).toBe("one\n");
});

test("a stop that the engine has not heard of may be repeated", async () => {
  await ready();
  await runtime.start(task);
  engine.breakNext(/\/kill\?/);
  await expect(runtime.stop(task.id, 0)).rejects.toMatchObject({ code: "engine-unreachable" });
  await runtime.stop(task.id, 0);
  expect(kills()).toEqual(["signal=SIGKILL", "signal=SIGKILL"]);
  await until(phase, "ended");
});

test("a kill at the end of the grace that the engine has not heard of is repeated", async () => {
  await ready();
  await runtime.start(task);
  await runtime.stop(task.id, 5_000);
  engine.breakNext(/SIGKILL/);
  await clock.advance(5_000);
  await until(phase, "ended");
  expect(kills()).toEqual(["signal=SIGTERM", "signal=SIGKILL", "signal=SIGKILL"]);
});

test("an end that could not be looked at once is looked at again", async () => {
  await ready();
  await runtime.start(task);
  engine.print(name(), "one\n");
  await until(() => logOf(task), "one\n");
  const before = engine.asked.length;
  engine.breakNext(/GET .*\/json/);
  engine.exit(name());
  await until(phase, "ended");
  expect(await logOf(task)).toBe("one\n");
  expect(engine.asked.slice(before)).not.toContain("GET /events");
});

test("an end that is told while the container is being looked at is not missed", async () => {
  await ready();
  await runtime.start(task);
  const release = engine.holdNext(/GET .*\/json/);
  const before = engine.asked.length;
  engine.cut(name());
  await expect.poll(() => engine.asked.length).toBeGreaterThan(before);
  engine.exit(name());
  // Told over a connection of its own, which takes a moment.
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  release();
  await expect.poll(phase).toBe("ended");
});

test("a start whose answer is lost is no second writer of its log", async () => {
  await ready();
  engine.breakNext(/GET \/containers\/[^/]+\/json/);
  await expect(runtime.start(task)).rejects.toMatchObject({ code: "engine-unreachable" });
  await runtime.start(task);
  engine.print(name(), "one\n");
  engine.print(name(), "two\n");
  engine.exit(name());
  await until(phase, "ended");
  expect(await logOf(task)).toBe("one\ntwo\n");
});

test("output whose connection breaks while the container runs on is read on", async () => {
  await ready();
  await runtime.start(task);
  engine.print(name(), "one\n");
  await until(() => logOf(task), "one\n");
  engine.cut(name());
  await until(() => engine.asked.some((what) => what.includes("/logs")));
  engine.print(name(), "two\n");
  engine.exit(name());
  await until(phase, "ended");
  expect(await logOf(task)).toBe("one\ntwo\n");
});

test("an engine whose containers cannot be listed is listened to once", async () => {
  const tries = () => engine.asked.filter((what) => what.includes("/events")).length;
  await engine.listen();
  for (let failed = 1; failed <= 3; failed++) {
    engine.breakNext(/containers\/json/);
    await until(() => tries() >= failed && engine.listeners === 0);
  }
  await until(() => runtime.trouble?.() === undefined);
  expect(engine.listeners).toBe(1);
});

test("closing does not wait for an engine that has never answered", async () => {
  await runtime.close({ stopTasks: 1_000 });
});

test("closing does not wait for an engine that takes connections and says nothing", async () => {
  engine.isSilent = true;
  await engine.listen();
  await runtime.close({ stopTasks: 1_000 });
});
