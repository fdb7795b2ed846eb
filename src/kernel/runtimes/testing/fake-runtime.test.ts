import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { Task } from "../contract.ts";
import { temporaryDirectory } from "../testing/index.ts";
import { outcomeOf, runtimeContract } from "../runtime.contract.ts";
import { createFakeRuntime } from "./fake-runtime.ts";

runtimeContract("fake", async () => {
  const directory = await temporaryDirectory();
  const clock = new FakeClock();
  const task = (id: string, ...command: [string, ...string[]]): Task => ({
    id,
    command,
    env: {},
    workingDirectory: "/",
    logPath: join(directory.path, `${id.replaceAll("/", "_")}.log`),
  });
  const runtime = createFakeRuntime({
    clock,
    behave: ({ id, command: [verb, code, text] }, fake) => {
      if (text !== undefined) fake.print(id, text);
      if (verb === "exit") void fake.exit(id, Number(code));
    },
    ignoresTerm: ({ command: [verb] }) => verb === "ignore",
  });
  return {
    runtime,
    exits: (id, code, text) => task(id, "exit", `${code}`, ...(text === undefined ? [] : [text])),
    waits: (id) => task(id, "wait"),
    ignoresTerm: (id) => task(id, "ignore"),
    runsOf: async (id) => runtime.started.filter((started) => started.id === id).length,
    passes: (time) => clock.advance(time),
    close: async () => {
      await runtime.close();
      await directory.remove();
    },
  };
});

const simple = (id: string): Task => ({ id, command: ["x"], env: {}, workingDirectory: "/", logPath: "/dev/null" });

test("a task that ignores TERM is killed by the clock", async () => {
  const clock = new FakeClock();
  const runtime = createFakeRuntime({ clock, ignoresTerm: () => true });
  await runtime.start(simple("a"));
  await runtime.stop("a", 30_000);
  await clock.advance(29_999);
  expect(runtime.find("a")?.state.phase).toBe("running");
  await clock.advance(1);
  expect(await outcomeOf(runtime, "a")).toMatchObject({ code: 137 });
});

test("a task can be lost, and starting can be made to fail", async () => {
  const runtime = createFakeRuntime({ clock: new FakeClock() });
  await runtime.start(simple("a"));
  runtime.lose("a");
  expect(await outcomeOf(runtime, "a")).toMatchObject({ kind: "lost" });
  runtime.failStarts(new Error("no runner"));
  await expect(runtime.start(simple("b"))).rejects.toThrow("no runner");
  runtime.failStarts(undefined);
  expect((await runtime.start(simple("b"))).state.phase).toBe("running");
});

test("stops are remembered in their order, with what they asked for", async () => {
  const clock = new FakeClock();
  const runtime = createFakeRuntime({ clock, ignoresTerm: () => true });
  await runtime.start(simple("a"));
  await runtime.stop("a", 5_000);
  await runtime.stop("nobody", 1);
  expect(runtime.stops).toEqual([
    { id: "a", grace: 5_000 },
    { id: "nobody", grace: 1 },
  ]);
});

test("times are the clock's", async () => {
  const clock = new FakeClock(1_000);
  const runtime = createFakeRuntime({ clock });
  expect((await runtime.start(simple("a"))).state).toEqual({ phase: "running", startedAt: 1_000 });
  await clock.advance(250);
  await runtime.exit("a", 9);
  expect(await outcomeOf(runtime, "a")).toEqual({ kind: "exited", code: 9, startedAt: 1_000, finishedAt: 1_250 });
});

test("what has ended cannot end, print or be lost again", async () => {
  const runtime = createFakeRuntime({ clock: new FakeClock() });
  const heard: string[] = [];
  runtime.subscribe(({ state }) => heard.push(state.phase));
  await runtime.start(simple("a"));
  await runtime.exit("a", 0);
  await runtime.exit("a", 1);
  runtime.print("a", "late\n");
  runtime.lose("a");
  expect(await outcomeOf(runtime, "a")).toMatchObject({ code: 0 });
  expect(heard).toEqual(["running", "ended"]);
});

test("capabilities are those of host processes with everything that needs root, unless told", async () => {
  const clock = new FakeClock();
  expect(await createFakeRuntime({ clock }).capabilities()).toEqual({
    images: false,
    mounts: { supported: true },
    users: true,
    limits: false,
  });
  const mounts = { supported: false, reason: "why not" } as const;
  expect(await createFakeRuntime({ clock, capabilities: { mounts } }).capabilities()).toMatchObject({ mounts });
});
