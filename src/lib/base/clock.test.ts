import { readFile } from "node:fs/promises";
import { afterEach, expect, test, vi } from "vitest";
import { type Clock, deferred, FakeClock, sleep, systemClock } from "./index.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("a fake clock runs timers in order of their time", async () => {
  const clock = new FakeClock(0);
  const seen: number[] = [];
  clock.after(20, () => seen.push(clock.now()));
  clock.after(10, () => seen.push(clock.now()));
  await clock.advance(15);
  expect(seen).toEqual([10]);
  await clock.advance(15);
  expect(seen).toEqual([10, 20]);
});

test("timers of the same time run in the order in which they were asked for", async () => {
  const clock = new FakeClock(0);
  const seen: string[] = [];
  for (const name of ["a", "b", "c"]) clock.after(10, () => seen.push(name));
  await clock.advance(10);
  expect(seen).toEqual(["a", "b", "c"]);
});

test("a timer that a timer sets runs in the same step, at its own time", async () => {
  const clock = new FakeClock(0);
  const seen: number[] = [];
  clock.after(10, () => clock.after(5, () => seen.push(clock.now())));
  clock.after(12, () => seen.push(clock.now()));
  await clock.advance(20);
  expect(seen).toEqual([12, 15]);
  expect(clock.now()).toBe(20);
});

test("work that promises put off is done before the next timer runs", async () => {
  const clock = new FakeClock(0);
  const seen: string[] = [];
  clock.after(1, () => void Promise.resolve().then(() => seen.push("promise")));
  clock.after(2, () => seen.push("timer"));
  await clock.advance(2);
  expect(seen).toEqual(["promise", "timer"]);
});

test("no time passes while files are read, however long that takes", async () => {
  const clock = new FakeClock(0);
  const seen: string[] = [];
  clock.after(1, () => void readFile(import.meta.filename).then(() => seen.push(`read at ${clock.now()}`)));
  clock.after(2, () => seen.push("timer"));
  await clock.advance(5);
  expect(seen).toEqual(["read at 1", "timer"]);
});

test("a canceled timer does not run, and canceling again or late is harmless", async () => {
  const clock = new FakeClock(0);
  const seen: string[] = [];
  const cancelFirst = clock.after(1, () => seen.push("first"));
  const cancelSecond = clock.after(2, () => seen.push("second"));
  cancelFirst();
  cancelFirst();
  await clock.advance(5);
  cancelSecond();
  expect(seen).toEqual(["second"]);
});

test("a negative delay counts as none, but nothing runs before the clock is moved", async () => {
  const clock = new FakeClock(0);
  let ran = false;
  clock.after(-5, () => {
    ran = true;
  });
  expect(ran).toBe(false);
  await clock.advance(0);
  expect(ran).toBe(true);
  expect(clock.now()).toBe(0);
});

test("setting a fake clock moves neither its timers nor its monotonic time", async () => {
  const clock = new FakeClock(1_000_000);
  const seen: number[] = [];
  clock.after(20, () => seen.push(clock.now()));
  clock.jump(0);
  expect(clock.monotonic()).toBe(0);
  await clock.advance(25);
  expect(seen).toEqual([20]);
  expect(clock.monotonic()).toBe(25);
});

test("a wait longer than a timer of Node can be is waited for in full", () => {
  vi.useFakeTimers();
  const days = 24 * 60 * 60 * 1000;
  let ran = 0;
  systemClock.after(60 * days, () => {
    ran++;
  });
  vi.advanceTimersByTime(60 * days - 1);
  expect(ran).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ran).toBe(1);
  vi.advanceTimersByTime(60 * days);
  expect(ran).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("a long wait can be canceled in any of its parts, and an endless one never ends", () => {
  vi.useFakeTimers();
  const days = 24 * 60 * 60 * 1000;
  let ran = 0;
  const count = () => {
    ran++;
  };
  const cancelEarly = systemClock.after(60 * days, count);
  const cancelLate = systemClock.after(60 * days, count);
  const cancelEndless = systemClock.after(Number.POSITIVE_INFINITY, count);
  cancelEarly();
  vi.advanceTimersByTime(30 * days);
  cancelLate();
  vi.advanceTimersByTime(300 * days);
  cancelEndless();
  expect(ran).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("the clock of the system tells the time and measures it", () => {
  const [before, start] = [systemClock.now(), systemClock.monotonic()];
  expect(Number.isInteger(before)).toBe(true);
  expect(systemClock.now()).toBeGreaterThanOrEqual(before);
  expect(systemClock.monotonic()).toBeGreaterThanOrEqual(start);
});

/** A fake clock that counts the timers which are waiting. */
function countingClock(): { readonly clock: Clock; readonly fake: FakeClock; readonly waiting: () => number } {
  const fake = new FakeClock(0);
  const open = new Set<object>();
  const clock: Clock = {
    now: () => fake.now(),
    monotonic: () => fake.monotonic(),
    after: (delay, run) => {
      const timer = {};
      open.add(timer);
      const cancel = fake.after(delay, () => {
        open.delete(timer);
        run();
      });
      return () => {
        open.delete(timer);
        cancel();
      };
    },
  };
  return { clock, fake, waiting: () => open.size };
}

test("a sleep ends with the signal's reason when that aborts first, and leaves no timer", async () => {
  const { clock, waiting } = countingClock();
  const abort = new AbortController();
  const slept = sleep(clock, 1000, abort.signal);
  expect(waiting()).toBe(1);
  abort.abort(new Error("stop"));
  await expect(slept).rejects.toThrow("stop");
  expect(waiting()).toBe(0);
});

test("a sleep under a signal that has aborted before does not begin", async () => {
  const { clock, waiting } = countingClock();
  await expect(sleep(clock, 1000, AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
  expect(waiting()).toBe(0);
});

test("a sleep that ended does not hear its signal any more", async () => {
  const { clock, fake } = countingClock();
  const abort = new AbortController();
  const outcome = sleep(clock, 10, abort.signal).then(() => "slept");
  await fake.advance(10);
  abort.abort();
  await expect(outcome).resolves.toBe("slept");
});

test("the first end of a deferred promise decides", async () => {
  const { promise, resolve, reject } = deferred<string>();
  resolve("first");
  resolve("second");
  reject(new Error("third"));
  await expect(promise).resolves.toBe("first");
});

test("the time of day runs on where the machine's clock is set back, and follows it forward", () => {
  const hour = 3_600_000;
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: Date.now() + 72 * hour });
  const start = systemClock.now();
  expect(start).toBe(Date.now());
  vi.setSystemTime(start - hour);
  expect(systemClock.now()).toBe(start);
  vi.advanceTimersByTime(5000);
  expect(systemClock.now()).toBe(start + 5000);
  vi.setSystemTime(start + hour);
  expect(systemClock.now()).toBe(start + hour);
  vi.setSystemTime(start - 48 * hour);
  expect(systemClock.now()).toBe(start - 48 * hour);
});
