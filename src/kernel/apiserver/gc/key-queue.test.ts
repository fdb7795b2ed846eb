import { expect, test } from "vitest";
import { deferred, FakeClock, silentLog } from "#lib/base/index.ts";
import { waitUntil } from "../testing/index.ts";
import { KeyQueue } from "./key-queue.ts";

const queueOf = (work: (key: string) => Promise<void>, clock = new FakeClock()) =>
  new KeyQueue({ work, clock, log: silentLog });

test("a key added many times while it waits is worked on once", async () => {
  const done: string[] = [];
  const queue = queueOf(async (key) => void done.push(key));
  for (let count = 0; count < 5; count++) queue.add("a");
  await waitUntil(() => queue.idle);
  expect(done).toEqual(["a"]);
});

test("a key added while it is worked on is worked on again, and never twice at once", async () => {
  const gate = deferred<void>();
  let running = 0;
  let runs = 0;
  const queue = queueOf(async () => {
    running += 1;
    expect(running).toBe(1);
    runs += 1;
    await gate.promise;
    running -= 1;
  });
  queue.add("a");
  await waitUntil(() => runs === 1);
  queue.add("a");
  gate.resolve();
  await waitUntil(() => queue.idle);
  expect(runs).toBe(2);
});

test("a key whose work fails is tried again, ever more slowly", async () => {
  const clock = new FakeClock();
  const times: number[] = [];
  const begin = clock.now();
  const queue = queueOf(() => {
    times.push(clock.now() - begin);
    return times.length < 4 ? Promise.reject(new Error("not yet")) : Promise.resolve();
  }, clock);
  queue.add("a");
  await waitUntil(async () => {
    await clock.advance(100);
    return queue.idle;
  });
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(waits.map((wait) => Math.round(wait / 500))).toEqual([1, 2, 4]);
});

test("closing waits for what runs and starts nothing more", async () => {
  const gate = deferred<void>();
  const started: string[] = [];
  const queue = queueOf(async (key) => {
    started.push(key);
    await gate.promise;
  });
  queue.add("a");
  await waitUntil(() => started.length === 1);
  queue.add("b");
  let closed = false;
  const closing = queue.close().then(() => (closed = true));
  queue.add("c");
  expect(closed).toBe(false);
  gate.resolve();
  await closing;
  expect(started).toEqual(["a"]);
});

test("no more keys are at work at once than allowed, and the rest follows in the order of adding", async () => {
  const gates = new Map<string, ReturnType<typeof deferred<void>>>();
  const started: string[] = [];
  const work = (key: string) => {
    started.push(key);
    const gate = deferred<void>();
    gates.set(key, gate);
    return gate.promise;
  };
  const queue = new KeyQueue({ work, clock: new FakeClock(), log: silentLog, concurrency: 2 });
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  await waitUntil(() => started.length === 2);
  await new Promise((resolve) => setImmediate(resolve));
  expect(started).toEqual(["a", "b"]);
  gates.get("b")?.resolve();
  await waitUntil(() => started.length === 3);
  expect(started).toEqual(["a", "b", "c"]);
  for (const key of ["a", "c"]) gates.get(key)?.resolve();
  await waitUntil(() => started.length === 4);
  gates.get("d")?.resolve();
  await waitUntil(() => queue.idle);
});

test("a key that waits for its retry is worked on at once when it is added, and then its delay goes on growing", async () => {
  const clock = new FakeClock();
  const times: number[] = [];
  const begin = clock.now();
  const queue = queueOf(() => {
    times.push(clock.now() - begin);
    return Promise.reject(new Error("not yet"));
  }, clock);
  queue.add("a");
  await waitUntil(() => times.length === 1);
  await clock.advance(100);
  queue.add("a");
  await waitUntil(() => times.length === 2);
  await clock.advance(999);
  expect(times).toEqual([0, 100]);
  await clock.advance(1);
  await waitUntil(() => times.length === 3);
  await queue.close();
});

test("the longest pause is half a minute, and a success makes the next failure a first one", async () => {
  const clock = new FakeClock();
  let fails = true;
  let runs = 0;
  const queue = queueOf(() => {
    runs += 1;
    return fails ? Promise.reject(new Error("not yet")) : Promise.resolve();
  }, clock);
  queue.add("a");
  for (let turn = 0; turn < 12; turn++) {
    const before = runs;
    await waitUntil(async () => {
      await clock.advance(250);
      return runs > before;
    });
  }
  const before = clock.now();
  const seen = runs;
  await waitUntil(async () => {
    await clock.advance(250);
    return runs > seen;
  });
  expect(clock.now() - before).toBeLessThanOrEqual(30_250);
  expect(clock.now() - before).toBeGreaterThan(29_000);
  fails = false;
  await waitUntil(async () => {
    await clock.advance(1000);
    return queue.idle;
  });
  fails = true;
  const after = runs;
  queue.add("a");
  await waitUntil(() => runs === after + 1);
  await clock.advance(500);
  await waitUntil(() => runs === after + 2);
  await queue.close();
});

test("a queue is idle only when nothing waits, runs or is to be tried again", async () => {
  const clock = new FakeClock();
  let fails = true;
  const queue = queueOf(() => (fails ? Promise.reject(new Error("not yet")) : Promise.resolve()), clock);
  expect(queue.idle).toBe(true);
  queue.add("a");
  expect(queue.idle).toBe(false);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(queue.idle).toBe(false);
  fails = false;
  await clock.advance(500);
  await waitUntil(() => queue.idle);
});
