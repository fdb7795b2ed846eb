import { beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { WorkQueue } from "./work-queue.ts";

let clock: FakeClock;
let queue: WorkQueue;

beforeEach(() => {
  clock = new FakeClock();
  queue = new WorkQueue({ clock });
});

/** Takes and finishes everything that is ready. */
function drain(): string[] {
  const taken: string[] = [];
  for (let key = queue.take(); key !== undefined; key = queue.take()) {
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

test("keys come out in the order they went in, each once however often it was added", () => {
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  expect(queue.stats().depth).toBe(3);
  expect(drain()).toEqual(["a", "b", "c"]);
});

test("a key added while it is processed comes out again afterwards, once", () => {
  queue.add("a");
  expect(queue.take()).toBe("a");
  queue.add("a");
  queue.add("a");
  expect(queue.take()).toBeUndefined();
  queue.done("a");
  expect(drain()).toEqual(["a"]);
});

test("live keys go before background keys, and a background key that becomes live moves up", () => {
  for (const key of ["x", "y", "z"]) queue.add(key, "background");
  queue.add("a");
  queue.add("z");
  expect(drain()).toEqual(["a", "z", "x", "y"]);
});

test("what is owed goes behind what is live and before the background, and a key only moves up", () => {
  queue.add("x", "background");
  queue.add("y", "background");
  queue.add("b", "owed");
  queue.add("y", "owed");
  queue.add("a", "owed");
  queue.add("a");
  queue.add("a", "owed");
  expect(drain()).toEqual(["a", "b", "y", "x"]);
});

test("a key that is live stays live when it is added in the background", () => {
  queue.add("bg", "background");
  queue.add("a");
  queue.add("a", "background");
  expect(drain()).toEqual(["a", "bg"]);
});

test("a key wanted again while processed keeps the higher of the priorities", () => {
  queue.add("a");
  queue.take();
  queue.add("a", "live");
  queue.add("a", "background");
  queue.add("b", "background");
  queue.done("a");
  expect(drain()).toEqual(["a", "b"]);
});

test("a delayed key comes out at its time, the earliest of several wishes", async () => {
  queue.addAfter("a", 300);
  queue.addAfter("a", 100);
  queue.addAfter("a", 200);
  queue.addAfter("b", 50);
  await clock.advance(49);
  expect(drain()).toEqual([]);
  await clock.advance(1);
  expect(drain()).toEqual(["b"]);
  await clock.advance(50);
  expect(drain()).toEqual(["a"]);
  await clock.advance(1000);
  expect(drain()).toEqual([]);
});

test("taking a key fulfils the delayed wishes for it", async () => {
  queue.addAfter("a", 100);
  queue.add("a");
  expect(drain()).toEqual(["a"]);
  await clock.advance(200);
  expect(drain()).toEqual([]);
});

test("a delay of zero or less is no delay", () => {
  queue.addAfter("a", 0);
  queue.addAfter("b", -5);
  expect(drain()).toEqual(["a", "b"]);
});

test("delays are not changed by somebody setting the clock", async () => {
  queue.addAfter("a", 1000);
  clock.jump(0);
  queue.addAfter("b", 500);
  await clock.advance(1000);
  expect(drain()).toEqual(["b", "a"]);
});

test("retries wait 5 ms and twice as long each time, up to the limit, until the key is forgotten", async () => {
  queue = new WorkQueue({ clock, longestRetry: 50, retryLimit: { perSecond: 1000, burst: 1000 } });
  const delays: number[] = [];
  for (let failure = 0; failure < 6; failure++) {
    const before = clock.now();
    queue.addRateLimited("a");
    while (drain().length === 0) await clock.advance(1);
    delays.push(clock.now() - before);
  }
  expect(delays).toEqual([5, 10, 20, 40, 50, 50]);
  expect(queue.failures("a")).toBe(6);
  queue.forget("a");
  expect(queue.failures("a")).toBe(0);
  queue.addRateLimited("a");
  await clock.advance(5);
  expect(drain()).toEqual(["a"]);
});

test("retries of all keys together are limited to 10 a second after a burst of 100", async () => {
  for (let index = 0; index < 120; index++) queue.addRateLimited(`key-${index}`);
  await clock.advance(5);
  expect(drain()).toHaveLength(100);
  await clock.advance(995);
  expect(drain()).toHaveLength(10);
  await clock.advance(1000);
  expect(drain()).toHaveLength(10);
});

test("all delays share one timer of the clock", async () => {
  let timers = 0;
  const counting = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (delay: number, run: () => void) => {
      timers++;
      const cancel = clock.after(delay, () => {
        timers--;
        run();
      });
      return () => {
        timers--;
        cancel();
      };
    },
  };
  queue = new WorkQueue({ clock: counting });
  for (let index = 0; index < 1000; index++) queue.addAfter(`key-${index}`, 1000 - index);
  expect(timers).toBe(1);
  expect(queue.stats().delayed).toBe(1000);
  await clock.advance(1000);
  expect(drain()).toHaveLength(1000);
  expect(timers).toBe(0);
});

test("who listens is called when a key becomes ready, also after a delay and after done", async () => {
  let calls = 0;
  queue.onReady(() => calls++);
  queue.add("a");
  expect(calls).toBe(1);
  queue.addAfter("b", 10);
  expect(calls).toBe(1);
  await clock.advance(10);
  expect(calls).toBe(2);
  queue.take();
  queue.add("a");
  expect(calls).toBe(2);
  queue.done("a");
  expect(calls).toBe(3);
});

test("stats and observers tell depth, waiting, work and the longest running", async () => {
  const seen: string[] = [];
  queue = new WorkQueue({
    clock,
    observer: {
      added: () => seen.push("added"),
      taken: (waited) => seen.push(`waited ${waited}`),
      done: (worked) => seen.push(`worked ${worked}`),
      retried: () => seen.push("retried"),
    },
  });
  queue.add("a");
  queue.add("b");
  await clock.advance(10);
  queue.take();
  await clock.advance(5);
  queue.take();
  await clock.advance(7);
  expect(queue.stats()).toEqual({ depth: 0, processing: 2, delayed: 0, longestRunning: 12 });
  queue.addRateLimited("a");
  queue.done("a");
  expect(queue.stats()).toMatchObject({ processing: 1, delayed: 1, longestRunning: 7 });
  expect(seen).toEqual(["added", "added", "waited 10", "waited 15", "retried", "worked 12"]);
});

test("done for a key nobody took is a mistake that is told", () => {
  queue.add("a");
  expect(() => queue.done("a")).toThrow("not being processed");
  expect(() => queue.done("b")).toThrow("not being processed");
});

test("after a shutdown nothing comes in or out", async () => {
  queue.add("a");
  queue.addAfter("b", 10);
  queue.shutdown();
  queue.add("c");
  queue.addRateLimited("d");
  await clock.advance(100);
  expect(drain()).toEqual([]);
  expect(queue.stats()).toMatchObject({ depth: 0, delayed: 0 });
});

test("a drain waits for what is queued and in work, and drops what is delayed", async () => {
  queue.add("a");
  queue.add("b");
  queue.addAfter("c", 10);
  expect(queue.take()).toBe("a");
  let result: boolean | undefined;
  void queue.shutdownWithDrain(1000).then((isDrained) => (result = isDrained));
  queue.add("late");
  await clock.advance(20);
  expect(result).toBeUndefined();
  queue.done("a");
  expect(drain()).toEqual(["b"]);
  await clock.advance(0);
  expect(result).toBe(true);
});

test("a drain that takes too long says so", async () => {
  queue.add("a");
  queue.take();
  const drained = queue.shutdownWithDrain(1000);
  await clock.advance(1000);
  expect(await drained).toBe(false);
});

test("places left behind by keys that moved up do not pile up", () => {
  queue.add("last", "background");
  for (let round = 0; round < 10_000; round++) {
    queue.add("a", "background");
    queue.add("a", "live");
    expect(queue.take()).toBe("a");
    queue.done("a");
  }
  expect(drain()).toEqual(["last"]);
});
