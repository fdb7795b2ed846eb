import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Controller } from "./controller.ts";

test("many keys that are ready at once are started in several turns of the event loop", () => {
  let now = 0;
  let started = 0;
  const turns: (() => void)[] = [];
  const controller = new Controller({
    name: "busy",
    // The first part of each pass takes a millisecond, and none comes to its end.
    reconciler: {
      reconcile() {
        now++;
        started++;
        return new Promise(() => undefined);
      },
    },
    clock: Object.assign(new FakeClock(), { monotonic: () => now }),
    log: silentLog,
    schedule: (run) => turns.push(run),
    maxConcurrent: 100,
  });
  for (let key = 0; key < 100; key++) controller.queue.add(`key-${key}`);
  const stop = new AbortController();
  void controller.run({ stop: stop.signal, abort: stop.signal });
  const startedIn: number[] = [];
  for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
    const before = started;
    turn();
    startedIn.push(started - before);
  }
  expect(started).toBe(100);
  expect(Math.max(...startedIn)).toBeLessThanOrEqual(5);
  stop.abort();
});
