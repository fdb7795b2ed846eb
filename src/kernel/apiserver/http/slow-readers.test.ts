import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { SlowReaders } from "./slow-readers.ts";

/** The part of a response that is looked at. */
class Answer extends EventEmitter {
  writableNeedDrain = true;
  writableFinished = false;
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
  #written: ((error: Error | null) => void) | undefined;
  write(_: Buffer, done: (error: Error | null) => void): void {
    this.#written = done;
  }
  /** The reader takes what there is. */
  take(): void {
    this.#written?.(null);
    this.writableNeedDrain = false;
    this.emit("drain");
  }
}

let clock: FakeClock;
let readers: SlowReaders;
beforeEach(() => {
  clock = new FakeClock();
  readers = new SlowReaders(clock, { takeMs: 10_000, maxWaiting: 3, patienceMs: 2000 });
});
const write = (answer: Answer) => readers.write(answer as unknown as ServerResponse, Buffer.from("x"));
const wait = (answer: Answer) => readers.drained(answer as unknown as ServerResponse);
const end = (answer: Answer) => readers.ended(answer as unknown as ServerResponse);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a reader", () => {
  test("who needs nothing is not waited for", async () => {
    const answer = new Answer();
    answer.writableNeedDrain = false;
    await wait(answer);
    await clock.advance(60_000);
    expect([answer.destroyed, readers.cut]).toEqual([false, 0]);
  });

  test("who has to wait for another answer of his connection loses the connection", async () => {
    let isCut = false;
    const connection = { destroy: () => (isCut = true) };
    const answer = Object.assign(new Answer(), { socket: null, req: { socket: connection } });
    const waiting = wait(answer);
    await clock.advance(11_000);
    await waiting;
    expect([answer.destroyed, isCut]).toEqual([true, true]);
  });

  test("has the time for each piece anew", async () => {
    const answer = new Answer();
    for (let piece = 0; piece < 5; piece += 1) {
      answer.writableNeedDrain = true;
      const waiting = wait(answer);
      await clock.advance(8000);
      answer.take();
      await waiting;
    }
    expect([answer.destroyed, readers.cut]).toEqual([false, 0]);
  });

  test("has the same for what is written from memory that is used again", async () => {
    const answer = new Answer();
    for (let piece = 0; piece < 5; piece += 1) {
      const writing = write(answer);
      await clock.advance(8000);
      answer.take();
      expect(await writing).toBe(true);
    }
    const last = write(answer);
    await clock.advance(11_000);
    expect(await last).toBe(false);
    expect([answer.destroyed, readers.cut, answer.listenerCount("close")]).toEqual([true, 1, 1]);
  });

  test("who does not take a piece in time is cut", async () => {
    const answer = new Answer();
    const waiting = wait(answer);
    await clock.advance(9000);
    expect(answer.destroyed).toBe(false);
    await clock.advance(2000);
    expect([answer.destroyed, readers.cut]).toEqual([true, 1]);
    await waiting;
  });

  test("who does not take the end is cut; who has taken it is not", async () => {
    const [slow, quick, late] = [new Answer(), new Answer(), new Answer()];
    for (const answer of [slow, quick, late]) end(answer);
    quick.writableFinished = true;
    await turn();
    await clock.advance(5000);
    late.writableFinished = true;
    await clock.advance(60_000);
    expect([slow.destroyed, quick.destroyed, late.destroyed, readers.cut]).toEqual([true, false, false, 1]);
  });
});

test("of too many readers those go who have been waited for longest, and none before its time", async () => {
  const answers = Array.from({ length: 5 }, () => new Answer());
  for (const answer of answers) {
    void wait(answer);
    await clock.advance(1000);
  }
  await clock.advance(0);
  // Two were cut when the fourth and the fifth came: the first had been waited for more than two seconds.
  expect(answers.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false]);
  expect(readers.cut).toBe(2);
  await clock.advance(3000);
  expect(readers.cut).toBe(2);
});
