import { beforeEach, expect, test } from "vitest";
import { type Clock, type Deferred, deferred, FakeClock, systemClock } from "#lib/base/index.ts";
import { type PoolLimits, TemplatePool } from "./pool.ts";
import type { ThreadAnswer } from "./protocol.ts";
import type { TemplateThread } from "./thread.ts";

/** A thread that starts and answers when the test says so. */
class FakeThread implements TemplateThread {
  readonly #ready = deferred<void>();
  #asked: Deferred<ThreadAnswer> | undefined;
  question: string | undefined;
  hasEnded = false;
  /** Undefined: the system does not tell. */
  cpu: number | undefined;

  cpuMs(): number | undefined {
    return this.cpu;
  }

  constructor() {
    this.#ready.promise.catch(() => undefined);
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  ask(question: string): Promise<ThreadAnswer> {
    if (this.question !== undefined) throw new Error("asked while it answers");
    this.question = question;
    this.#asked = deferred();
    return this.#asked.promise;
  }

  async end(): Promise<void> {
    this.hasEnded = true;
    this.#ready.reject(new Error("ended"));
    this.#asked?.reject(new Error("ended"));
    return Promise.resolve();
  }

  start(): void {
    this.#ready.resolve();
  }

  failToStart(): void {
    this.#ready.reject(new Error("no such file"));
  }

  answer(memoryBytes = 1): void {
    const text = `answer to ${this.question}`;
    this.question = undefined;
    this.#asked?.resolve({ kind: "answer", text, memoryBytes });
  }

  break(answer: ThreadAnswer): void {
    this.#asked?.resolve(answer);
  }

  die(): void {
    this.#asked?.reject(new Error("the thread has ended"));
  }
}

let clock: FakeClock;
let threads: FakeThread[];

beforeEach(() => {
  clock = new FakeClock();
  threads = [];
});

const poolOf = (limits: Partial<PoolLimits> = {}, poolClock: Clock = clock): TemplatePool =>
  new TemplatePool(
    () => {
      const thread = new FakeThread();
      threads.push(thread);
      return thread;
    },
    poolClock,
    { maxThreads: 2, budgetMs: 1000, idleMs: 5000, ...limits },
  );

const settled = (): Promise<void> => clock.advance(0);
const thread = (at: number): FakeThread => threads[at] as FakeThread;
const answered = (question: string) => ({ ok: true, value: `answer to ${question}` });

test("no thread is started before the first question", async () => {
  const pool = poolOf();
  await settled();
  expect(threads).toHaveLength(0);
  const asked = pool.ask("a");
  thread(0).start();
  await settled();
  thread(0).answer();
  expect(await asked).toEqual(answered("a"));
});

test("warming starts one thread, which the first question finds", async () => {
  const pool = poolOf();
  pool.warm();
  pool.warm();
  expect(threads).toHaveLength(1);
  thread(0).start();
  await settled();
  void pool.ask("a");
  expect(thread(0).question).toBe("a");
  expect(threads).toHaveLength(1);
});

test("threads are started one after the other, and no more than may be", async () => {
  const pool = poolOf();
  const asked = ["a", "b", "c", "d"].map((question) => pool.ask(question));
  expect(threads).toHaveLength(1);
  thread(0).start();
  await settled();
  expect(threads).toHaveLength(2);
  thread(1).start();
  await settled();
  expect(threads).toHaveLength(2);
  expect(threads.map(({ question }) => question)).toEqual(["a", "b"]);
  thread(1).answer();
  await settled();
  expect(thread(1).question).toBe("c");
  thread(1).answer();
  await settled();
  thread(1).answer();
  thread(0).answer();
  expect(await Promise.all(asked)).toEqual(["a", "b", "c", "d"].map(answered));
});

test("what takes too long is ended, and what waited behind it is served by another thread", async () => {
  const pool = poolOf({ maxThreads: 1 });
  const slow = pool.ask("slow");
  const behind = pool.ask("behind");
  // The time that a thread takes to start is nobody's question's.
  await clock.advance(10_000);
  thread(0).start();
  await clock.advance(999);
  expect(thread(0).hasEnded).toBe(false);
  await clock.advance(1);
  expect(thread(0).hasEnded).toBe(true);
  expect(await slow).toEqual({ ok: false, error: { kind: "time" } });
  thread(1).start();
  await settled();
  thread(1).answer();
  expect(await behind).toEqual(answered("behind"));
});

test("a process that stood still while a thread was at work takes its answer, however late it is", async () => {
  const timers: (() => void)[] = [];
  const still: Clock = { ...systemClock, after: (_delay, run) => (timers.push(run), () => undefined) };
  const pool = poolOf({ maxThreads: 1 }, still);
  const asked = pool.ask("a");
  thread(0).start();
  await settled();
  // Of what has come meanwhile the timer is first: the last one that was set.
  timers.at(-1)?.();
  expect(thread(0).hasEnded).toBe(false);
  thread(0).answer();
  expect(await asked).toEqual(answered("a"));
});

test.each([
  [{ kind: "out-of-memory" }, { kind: "memory" }],
  [
    { kind: "crashed", message: "unreachable" },
    { kind: "crashed", message: "unreachable" },
  ],
] as const)("after %j the thread is replaced", async (answer, error) => {
  const pool = poolOf({ maxThreads: 1 });
  const bad = pool.ask("bad");
  const behind = pool.ask("behind");
  thread(0).start();
  await settled();
  thread(0).break(answer);
  expect(await bad).toEqual({ ok: false, error });
  expect(thread(0).hasEnded).toBe(true);
  thread(1).start();
  await settled();
  thread(1).answer();
  expect(await behind).toEqual(answered("behind"));
});

test("a thread that ends by itself costs its question only", async () => {
  const pool = poolOf({ maxThreads: 1 });
  const bad = pool.ask("bad");
  const behind = pool.ask("behind");
  thread(0).start();
  await settled();
  thread(0).die();
  expect(await bad).toEqual({ ok: false, error: { kind: "crashed", message: "the thread has ended" } });
  thread(1).start();
  await settled();
  thread(1).answer();
  expect(await behind).toEqual(answered("behind"));
});

test("a thread is replaced ahead of need after so many questions, or with too much memory", async () => {
  const pool = poolOf({ maxThreads: 1, maxQuestions: 2, maxKeptBytes: 100 });
  pool.warm();
  thread(0).start();
  await settled();
  for (const question of ["a", "b"]) {
    expect(threads).toHaveLength(1);
    const asked = pool.ask(question);
    thread(0).answer();
    await asked;
  }
  expect(threads.map(({ hasEnded }) => hasEnded)).toEqual([true, false]);
  thread(1).start();
  await settled();
  const asked = pool.ask("c");
  thread(1).answer(101);
  await asked;
  expect(threads.map(({ hasEnded }) => hasEnded)).toEqual([true, true, false]);
});

test("a thread without questions is ended, and the next question starts another", async () => {
  const pool = poolOf();
  pool.warm();
  thread(0).start();
  await clock.advance(5000);
  expect(thread(0).hasEnded).toBe(true);
  const asked = pool.ask("a");
  thread(1).start();
  await settled();
  thread(1).answer();
  expect(await asked).toEqual(answered("a"));
});

test("more questions than may wait are refused", async () => {
  const pool = poolOf({ maxThreads: 1, maxWaiting: 2 });
  void pool.ask("a");
  thread(0).start();
  await settled();
  void pool.ask("b");
  void pool.ask("c");
  expect(await pool.ask("d")).toEqual({ ok: false, error: { kind: "busy" } });
});

test("a question that waits can be taken back; one that is asked is answered for nobody", async () => {
  const pool = poolOf({ maxThreads: 1 });
  const asked = new AbortController();
  const waiting = new AbortController();
  const first = pool.ask("first", asked.signal);
  const second = pool.ask("second", waiting.signal);
  const third = pool.ask("third");
  thread(0).start();
  await settled();
  waiting.abort(new Error("taken back"));
  await expect(second).rejects.toThrow("taken back");
  asked.abort(new Error("left"));
  await expect(first).rejects.toThrow("left");
  thread(0).answer();
  await settled();
  expect(thread(0).question).toBe("third");
  thread(0).answer();
  expect(await third).toEqual(answered("third"));
  await expect(pool.ask("late", asked.signal)).rejects.toThrow("left");
});

test("when threads do not start, whoever waits hears why, and whoever asks later has another try", async () => {
  const pool = poolOf();
  const asked = [pool.ask("a"), pool.ask("b")];
  thread(0).failToStart();
  for (const each of asked) await expect(each).rejects.toThrow("no such file");
  const later = pool.ask("c");
  thread(1).start();
  await settled();
  thread(1).answer();
  expect(await later).toEqual(answered("c"));
});

test("closing ends all threads, in whatever they are, and answers everybody", async () => {
  const pool = poolOf();
  const asked = ["a", "b", "c"].map((question) => pool.ask(question));
  thread(0).start();
  await settled();
  await pool.close();
  expect(threads.map(({ hasEnded }) => hasEnded)).toEqual([true, true]);
  const closed = { ok: false, error: { kind: "closed" } };
  expect(await Promise.all(asked)).toEqual([closed, closed, closed]);
  expect(await pool.ask("d")).toEqual(closed);
  pool.warm();
  expect(threads).toHaveLength(2);
});

test("a thread that gets little of the processor may take longer, up to ten budgets", async () => {
  const pool = poolOf();
  const asked = pool.ask("a");
  thread(0).cpu = 500;
  thread(0).start();
  await settled();
  thread(0).cpu = 700;
  await clock.advance(1000);
  expect(thread(0).hasEnded).toBe(false);
  thread(0).cpu = 1500;
  await clock.advance(800);
  expect(await asked).toEqual({ ok: false, error: { kind: "time" } });

  const starved = pool.ask("b");
  thread(1).cpu = 0;
  thread(1).start();
  await settled();
  await clock.advance(9_000);
  expect(thread(1).hasEnded).toBe(false);
  await clock.advance(1_000);
  expect(await starved).toEqual({ ok: false, error: { kind: "time" } });
});

test("17.22 a source that has run out of its budget takes one thread at most, whoever else waits", async () => {
  const pool = poolOf({ maxThreads: 2 });
  const first = pool.ask("hostile 0", undefined, undefined, "hostile");
  thread(0).start();
  await clock.advance(1_000);
  expect(await first).toEqual({ ok: false, error: { kind: "time" } });

  const ask = (question: string, source: string) => void pool.ask(question, undefined, undefined, source);
  for (const at of [1, 2, 3, 4]) ask(`hostile ${at}`, "hostile");
  thread(1).start();
  await settled();
  // The second thread is not even started for it.
  expect(threads.map(({ question, hasEnded }) => (hasEnded ? "ended" : question))).toEqual(["ended", "hostile 1"]);

  for (const at of [1, 2, 3]) ask(`honest ${at}`, "honest");
  thread(2).start();
  await settled();
  for (const at of [1, 2, 3]) {
    expect(threads.slice(1).map(({ question }) => question)).toEqual(["hostile 1", `honest ${at}`]);
    thread(2).answer();
    await settled();
  }
  expect(threads.slice(1).map(({ question }) => question)).toEqual(["hostile 1", undefined]);
  thread(1).answer();
  await settled();
  const asked = threads.slice(1).flatMap(({ question }) => question ?? []);
  expect(asked).toEqual(["hostile 2"]);
});
