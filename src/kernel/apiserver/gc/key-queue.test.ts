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
