import { expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import { OpenPool, type OpenPoolOptions } from "./open-pool.ts";

/** What was done, in order. */
function recorded(options: Partial<OpenPoolOptions<string>> = {}) {
  const done: string[] = [];
  const pool = new OpenPool<string>({
    open: async (key) => {
      done.push(`open ${key}`);
      return key;
    },
    close: async (key) => void done.push(`close ${key}`),
    mostOpen: 2,
    ...options,
  });
  return { done, pool };
}

test("it is opened once for all who use it, and stays open between uses", async () => {
  const { done, pool } = recorded();
  const [one, two] = await Promise.all([pool.acquire("a"), pool.acquire("a")]);
  await one.release();
  expect(pool.isTaken("a")).toBe(true);
  await two.release();
  await pool.use("a", async () => undefined);
  expect(done).toEqual(["open a"]);
  await pool.close();
  expect(done).toEqual(["open a", "close a"]);
});

test("the longest unused one is closed for another; when all are in use, one waits, or is refused", async () => {
  const { done, pool } = recorded();
  await pool.use("a", async () => undefined);
  await pool.use("b", async () => undefined);
  const [c, b] = [await pool.acquire("c"), await pool.acquire("b")];
  expect(done).toEqual(["open a", "open b", "close a", "open c"]);
  const waiting = pool.acquire("d");
  await b.release();
  await (await waiting).release();
  await c.release();
  const refusing = recorded({ mostOpen: 1, refusal: () => new Error("too many") });
  await refusing.pool.acquire("a");
  await expect(refusing.pool.acquire("b")).rejects.toThrow("too many");
});

test("idle ones are closed after a while, and those beyond a number", async () => {
  const clock = new FakeClock();
  const { done, pool } = recorded({ mostOpen: 9, mostIdle: 1, idleFor: { clock, ms: 1000 } });
  await pool.use("a", async () => undefined);
  await pool.use("b", async () => undefined);
  expect(done.at(-1)).toBe("close a");
  await clock.advance(1000);
  expect(done.at(-1)).toBe("close b");
  expect(pool.size).toBe(0);
});

test("one with a failed operation, or that is not good any more, is opened anew, and never twice at a time", async () => {
  const closing = deferred<void>();
  const { done, pool } = recorded({
    isGood: async () => false,
    close: async (key) => {
      done.push(`close ${key}`);
      await closing.promise;
    },
  });
  const failed = await pool.acquire("a");
  const released = failed.release(false);
  const next = pool.acquire("a");
  await Promise.resolve();
  expect(done).toEqual(["open a", "close a"]);
  closing.resolve();
  await released;
  await (await next).release();
  await pool.use("a", async () => undefined);
  expect(done).toEqual(["open a", "close a", "open a", "close a", "open a"]);
});

test("what is forgotten is closed with its last user, and opened anew by the next", async () => {
  const { done, pool } = recorded();
  const held = await pool.acquire("a");
  await pool.forget((key) => key === "a");
  await pool.use("a", async () => undefined);
  await held.release();
  expect(done).toEqual(["open a", "open a", "close a"]);
});

test("what cannot be opened is tried again by the next", async () => {
  let isBroken = true;
  const { pool } = recorded({
    open: (key) => (isBroken ? Promise.reject(new Error("no such file")) : Promise.resolve(key)),
  });
  await expect(pool.acquire("a")).rejects.toThrow("no such file");
  isBroken = false;
  expect((await pool.acquire("a")).opened).toBe("a");
});
