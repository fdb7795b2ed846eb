import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { Task } from "../contract.ts";
import { temporaryDirectory } from "../testing/index.ts";
import { outcomeOf, runtimeContract } from "../runtime.contract.ts";
import { createFakeRuntime } from "./fake-runtime.ts";

runtimeContract("fake", async () => {
  const directory = await temporaryDirectory();
  const task = (id: string, ...command: [string, ...string[]]): Task => ({
    id,
    command,
    env: {},
    workingDirectory: "/",
    logPath: join(directory.path, `${id.replaceAll("/", "_")}.log`),
  });
  const runtime = createFakeRuntime({
    clock: new FakeClock(),
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
