import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { Keepalive, type PingedSession } from "./keepalive.ts";

const times = { time: 30_000, timeout: 10_000 };

/** Answers at once unless it is frozen. */
class Session extends EventEmitter implements PingedSession {
  readonly pings: number[] = [];
  readonly #clock: FakeClock;
  isFrozen = false;
  isBroken = false;
  destroyedAt: number | undefined;

  constructor(clock: FakeClock) {
    super();
    this.#clock = clock;
  }

  ping(answered: (error: Error | null) => void): boolean {
    if (this.isBroken) throw new Error("the session is over");
    this.pings.push(this.#clock.monotonic());
    if (!this.isFrozen) answered(null);
    return true;
  }

  destroy(): void {
    this.destroyedAt = this.#clock.monotonic();
    this.emit("close");
  }
}

/** Counts what waits. */
class CountingClock extends FakeClock {
  readonly waiting = new Set<object>();

  override after(delay: number, run: () => void): () => void {
    const timer = {};
    this.waiting.add(timer);
    const end = () => void this.waiting.delete(timer);
    const cancel = super.after(delay, () => {
      end();
      run();
    });
    return () => {
      end();
      cancel();
    };
  }
}

function start(count: number) {
  const clock = new CountingClock();
  const keepalive = new Keepalive(clock, times);
  const sessions = Array.from({ length: count }, () => new Session(clock));
  for (const session of sessions) keepalive.add(session);
  return { clock, keepalive, sessions, began: clock.monotonic() };
}

test("each session is pinged once in its time, for the first time in the second half of it, and few of them in one turn", async () => {
  const { clock, sessions, keepalive, began } = start(600);
  await clock.advance(90_000);
  const turns = new Map<number, number>();
  for (const { pings } of sessions) {
    expect(pings).toHaveLength(3);
    expect((pings[0] ?? Infinity) - began).toBeLessThanOrEqual(times.time);
    expect((pings[0] ?? 0) - began).toBeGreaterThanOrEqual(times.time / 2);
    expect((pings[2] ?? 0) - (pings[1] ?? 0)).toBe(times.time);
    for (const at of pings) turns.set(at, (turns.get(at) ?? 0) + 1);
  }
  expect(Math.max(...turns.values())).toBeLessThanOrEqual(20);
  expect(sessions.every(({ destroyedAt }) => destroyedAt === undefined)).toBe(true);
  keepalive.close();
});

test("one that answers no more is destroyed when both times have passed, the others of its group stay", async () => {
  const { clock, sessions, keepalive } = start(120);
  await clock.advance(30_000);
  const [frozen] = sessions;
  if (frozen === undefined) throw new Error("there is none");
  frozen.isFrozen = true;
  const frozenAt = clock.monotonic();
  await clock.advance(times.time + times.timeout);
  expect(frozen.destroyedAt).toBeLessThanOrEqual(frozenAt + times.time + times.timeout);
  expect(sessions.filter(({ destroyedAt }) => destroyedAt !== undefined)).toEqual([frozen]);
  expect(frozen.pings.length).toBe(2);
  keepalive.close();
});

test("one that cannot be pinged is over", async () => {
  const { clock, sessions, keepalive } = start(1);
  for (const session of sessions) session.isBroken = true;
  await clock.advance(times.time);
  expect(sessions[0]?.destroyedAt).toBeDefined();
  keepalive.close();
});

test("without sessions, and after its end, nothing waits", async () => {
  const { clock, sessions, keepalive } = start(100);
  for (const session of sessions.slice(1)) session.emit("close");
  for (const session of sessions) session.isFrozen = true;
  await clock.advance(times.time);
  expect(sessions.map(({ pings }) => pings.length).filter((count) => count > 0)).toEqual([1]);
  expect(clock.waiting.size).toBeGreaterThan(0);
  keepalive.close();
  expect(clock.waiting.size).toBe(0);
  await clock.advance(times.timeout);
  expect(sessions[0]?.destroyedAt).toBeUndefined();
  const other = new Keepalive(clock, times);
  const alone = new Session(clock);
  other.add(alone);
  expect(clock.waiting.size).toBe(1);
  alone.emit("close");
  expect(clock.waiting.size).toBe(0);
});
