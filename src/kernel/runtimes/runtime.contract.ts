import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Millis } from "#lib/base/index.ts";
import { readLogs } from "#kernel/streams/index.ts";
import type { Runtime, Task, TaskOutcome, TaskStatus } from "./contract.ts";

/** What a runtime's own test gives to the suite: the runtime, and tasks that behave in known ways on it. */
export interface RuntimeUnderTest {
  readonly runtime: Runtime;
  /** Prints `text` to stdout and exits with `code`. */
  exits(id: string, code: number, text?: string): Task;
  /** Runs until it is asked to end. */
  waits(id: string): Task;
  /** Runs and does not end by TERM. */
  ignoresTerm(id: string): Task;
  /** How often a task with this id was really run. */
  runsOf(id: string): Promise<number>;
  /** Lets this much time pass for the runtime; real time passes by itself. */
  passes(time: Millis): Promise<void>;
  close(): Promise<void>;
}

/** Resolves with the outcome of a task, whenever it ends. */
export async function outcomeOf(runtime: Runtime, id: string): Promise<TaskOutcome> {
  return new Promise((resolve) => {
    const look = (status: TaskStatus | undefined) => {
      if (status?.id !== id || status.state.phase !== "ended") return;
      cancel();
      resolve(status.state.outcome);
    };
    const cancel = runtime.subscribe(look);
    look(runtime.find(id));
  });
}

/** The laws every runtime obeys. */
export function runtimeContract(name: string, open: () => Promise<RuntimeUnderTest>): void {
  describe(`the ${name} runtime`, () => {
    let tested: RuntimeUnderTest;
    beforeEach(async () => {
      tested = await open();
    });
    afterEach(() => tested.close());

    test("a task that ends by itself reports its exit code and times in order", async () => {
      await tested.runtime.start(tested.exits("a/main/0", 3));
      const outcome = await outcomeOf(tested.runtime, "a/main/0");
      expect(outcome).toMatchObject({ kind: "exited", code: 3 });
      if (outcome.kind === "exited") expect(outcome.finishedAt).toBeGreaterThanOrEqual(outcome.startedAt);
    });

    test("all output can be read once the end is reported", async () => {
      const task = tested.exits("a/main/0", 0, "hello\n");
      await tested.runtime.start(task);
      await outcomeOf(tested.runtime, task.id);
      const pieces: Uint8Array[] = [];
      for await (const piece of readLogs(task.logPath)) pieces.push(piece);
      expect(Buffer.concat(pieces).toString()).toBe("hello\n");
    });

    test("starting the same id again starts nothing and answers with what is known", async () => {
      const task = tested.exits("a/main/0", 0);
      await Promise.all([tested.runtime.start(task), tested.runtime.start(task)]);
      await outcomeOf(tested.runtime, task.id);
      const again = await tested.runtime.start(task);
      expect(again.state).toMatchObject({ phase: "ended", outcome: { code: 0 } });
      expect(await tested.runsOf(task.id)).toBe(1);
    });

    test("a start answers when the task runs, and it is listed and found", async () => {
      const status = await tested.runtime.start(tested.waits("a/main/0"));
      expect(status.state.phase).toBe("running");
      expect((await tested.runtime.list()).map((one) => one.id)).toEqual(["a/main/0"]);
      expect(tested.runtime.find("a/main/0")?.state.phase).toBe("running");
      await tested.runtime.stop("a/main/0", 0);
      await outcomeOf(tested.runtime, "a/main/0");
    });

    test("a stopped task ends by TERM, which reads 143", async () => {
      await tested.runtime.start(tested.waits("a/main/0"));
      // It can be asked to end from its first line on, not before.
      await expect.poll(() => tested.runsOf("a/main/0")).toBe(1);
      await tested.runtime.stop("a/main/0", 60_000);
      expect(await outcomeOf(tested.runtime, "a/main/0")).toMatchObject({
        kind: "exited",
        code: 143,
        signal: "SIGTERM",
      });
    });

    test("a task that ignores TERM is killed when a later stop shortens the grace", async () => {
      await tested.runtime.start(tested.ignoresTerm("a/main/0"));
      // It ignores TERM from its first line on, not before.
      await expect.poll(() => tested.runsOf("a/main/0")).toBe(1);
      await tested.runtime.stop("a/main/0", 3_600_000);
      await tested.runtime.stop("a/main/0", 0);
      expect(await outcomeOf(tested.runtime, "a/main/0")).toMatchObject({
        kind: "exited",
        code: 137,
        signal: "SIGKILL",
      });
    });

    test("a longer grace of a later stop does not put the end off", async () => {
      await tested.runtime.start(tested.ignoresTerm("a/main/0"));
      await expect.poll(() => tested.runsOf("a/main/0")).toBe(1);
      await tested.runtime.stop("a/main/0", 50);
      await tested.runtime.stop("a/main/0", 3_600_000);
      await tested.passes(50);
      expect(await outcomeOf(tested.runtime, "a/main/0")).toMatchObject({ kind: "exited", code: 137 });
    });

    test("stopping what is unknown or has ended is no error", async () => {
      await tested.runtime.stop("nobody", 0);
      await tested.runtime.start(tested.exits("a/main/0", 0));
      await outcomeOf(tested.runtime, "a/main/0");
      await tested.runtime.stop("a/main/0", 0);
      expect(tested.runtime.find("a/main/0")?.state).toMatchObject({ outcome: { code: 0 } });
    });

    test("removing forgets what has ended and keeps what runs", async () => {
      await tested.runtime.start(tested.exits("a/main/0", 0));
      await tested.runtime.start(tested.waits("b/main/0"));
      await outcomeOf(tested.runtime, "a/main/0");
      await tested.runtime.remove(["a/main/0", "b/main/0", "nobody"]);
      expect((await tested.runtime.list()).map((one) => one.id)).toEqual(["b/main/0"]);
      await tested.runtime.stop("b/main/0", 0);
      await outcomeOf(tested.runtime, "b/main/0");
    });

    test("listeners hear of running and end once each, in this order, and not after they left", async () => {
      const heard: string[] = [];
      const cancel = tested.runtime.subscribe((status) => heard.push(`${status.id} ${status.state.phase}`));
      await tested.runtime.start(tested.exits("a/main/0", 0));
      await outcomeOf(tested.runtime, "a/main/0");
      cancel();
      await tested.runtime.start(tested.exits("b/main/0", 0));
      await outcomeOf(tested.runtime, "b/main/0");
      expect(heard.filter((line) => line !== "a/main/0 starting")).toEqual(["a/main/0 running", "a/main/0 ended"]);
    });

    test("an id that was removed is unknown, and may be run again", async () => {
      const task = tested.exits("a/main/0", 0);
      for (const runs of [1, 2]) {
        await tested.runtime.start(task);
        await outcomeOf(tested.runtime, task.id);
        expect(await tested.runsOf(task.id)).toBe(runs);
        await tested.runtime.remove([task.id]);
        expect(tested.runtime.find(task.id)).toBeUndefined();
        expect(await tested.runtime.list()).toEqual([]);
      }
    });

    test("many tasks at once are kept apart", async () => {
      const ids = Array.from({ length: 20 }, (_, index) => `pod-${index}/main/0`);
      await Promise.all(ids.map((id, index) => tested.runtime.start(tested.exits(id, index, `${id}\n`))));
      const outcomes = await Promise.all(ids.map((id) => outcomeOf(tested.runtime, id)));
      expect(outcomes.map((outcome) => (outcome.kind === "exited" ? outcome.code : outcome))).toEqual(
        ids.map((_, index) => index),
      );
      expect(new Set((await tested.runtime.list()).map(({ id }) => id))).toEqual(new Set(ids));
    });

    test("two listeners hear the same, and leaving twice is harmless", async () => {
      const heard: [string[], string[]] = [[], []];
      const cancels = heard.map((list) => tested.runtime.subscribe(({ state }) => list.push(state.phase)));
      await tested.runtime.start(tested.exits("a/main/0", 0));
      await outcomeOf(tested.runtime, "a/main/0");
      expect(heard[0]).toEqual(heard[1]);
      for (const cancel of [...cancels, ...cancels]) cancel();
    });

    test("what a runtime can do does not change", async () => {
      expect(await tested.runtime.capabilities()).toEqual(await tested.runtime.capabilities());
    });

    test("closing twice is harmless", async () => {
      await tested.runtime.close();
      await tested.runtime.close();
    });

    test("closing with a grace ends the tasks, and calls after it are refused", async () => {
      await tested.runtime.start(tested.waits("a/main/0"));
      await tested.runtime.close({ stopTasks: 5_000 });
      await expect(tested.runtime.start(tested.waits("b/main/0"))).rejects.toMatchObject({ code: "runtime-closed" });
    });
  });
}
