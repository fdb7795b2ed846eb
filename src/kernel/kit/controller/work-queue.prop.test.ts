import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { DelayHeap } from "./delay-heap.ts";
import { Fifo } from "./fifo.ts";
import { WorkQueue } from "./work-queue.ts";

const key = fc.constantFrom("a", "b", "c", "d", "e");
const command = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom("add", "owed", "background", "retry", "forget"), key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("after"), key, ms: fc.integer({ min: 1, max: 50 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("take", "done") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait"), ms: fc.integer({ min: 1, max: 60 }) }) },
);
type Command = { readonly kind: string; readonly key?: string; readonly ms?: number };

/** Plays commands against a queue and watches over its laws. */
class Play {
  readonly clock = new FakeClock();
  readonly queue = new WorkQueue({ clock: this.clock });
  readonly working: string[] = [];
  /** Keys with a wish that no take has fulfilled. */
  readonly owed = new Set<string>();

  async do({ kind, key = "", ms = 0 }: Command): Promise<void> {
    if (kind === "add") this.queue.add(key);
    if (kind === "owed" || kind === "background") this.queue.add(key, kind);
    if (kind === "retry") this.queue.addRateLimited(key);
    if (kind === "after") this.queue.addAfter(key, ms);
    if (kind === "forget") this.queue.forget(key);
    else if (key !== "") this.owed.add(key);
    if (kind === "take") this.take();
    if (kind === "done") this.done();
    if (kind === "wait") await this.clock.advance(ms);
  }

  take(): boolean {
    const taken = this.queue.take();
    if (taken === undefined) return false;
    expect(this.working, "no key is given out twice at the same time").not.toContain(taken);
    expect(this.owed, "nothing comes out that nobody wanted").toContain(taken);
    this.working.push(taken);
    this.owed.delete(taken);
    return true;
  }

  done(): void {
    const finished = this.working.shift();
    if (finished !== undefined) this.queue.done(finished);
  }
}

test("no key is lost, invented or given out twice at once, whatever is done in whatever order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 80 }), async (commands) => {
      const play = new Play();
      for (const each of commands) await play.do(each);
      // A retry may wait 1000 s, and each round of finishing can bring wanted keys back.
      await play.clock.advance(1_100_000);
      for (let round = 0; round < 20; round++) {
        while (play.working.length > 0) play.done();
        while (play.take());
      }
      expect([...play.owed]).toEqual([]);
      while (play.working.length > 0) play.done();
      expect(play.queue.stats()).toEqual({ depth: 0, processing: 0, delayed: 0, longestRunning: 0 });
    }),
    { numRuns: runs(300) },
  );
});

test("the depth is the number of keys that wait", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
      const play = new Play();
      for (const each of commands) await play.do(each);
      const { depth } = play.queue.stats();
      let taken = 0;
      while (play.take()) taken++;
      expect(taken).toBe(depth);
    }),
  );
});

test("the heap gives keys in the order of their last time, and no key twice", () => {
  const operation = fc.record({ key: fc.nat(20), at: fc.nat(100), isDeleted: fc.boolean() });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300 }), (operations) => {
      const heap = new DelayHeap();
      const model = new Map<string, number>();
      for (const { key, at, isDeleted } of operations) {
        if (isDeleted) heap.delete(String(key));
        else heap.set(String(key), at);
        if (isDeleted) model.delete(String(key));
        else model.set(String(key), at);
      }
      expect(heap.size).toBe(model.size);
      expect(heap.next()).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
      const taken: number[] = [];
      for (let key = heap.takeDue(1000); key !== undefined; key = heap.takeDue(1000)) {
        taken.push(model.get(key) ?? -1);
        model.delete(key);
      }
      expect(taken).toEqual([...taken].sort((a, b) => a - b));
      expect(model.size).toBe(0);
    }),
  );
});

test("a fifo is a list that is pushed to and shifted from", () => {
  const operation = fc.option(fc.nat(), { nil: undefined });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200 }), fc.nat(1500), (operations, filled) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      for (let index = 0; index < filled; index++) {
        fifo.push(index);
        model.push(index);
      }
      for (let index = 0; index < filled - 10; index++) expect(fifo.shift()).toBe(model.shift());
      for (const item of operations) {
        if (item === undefined) expect(fifo.shift()).toBe(model.shift());
        else {
          fifo.push(item);
          model.push(item);
        }
        expect(fifo.size).toBe(model.length);
      }
      fifo.keep((item) => item % 2 === 0);
      expect(fifo.size).toBe(model.filter((item) => item % 2 === 0).length);
    }),
    { numRuns: runs(50) },
  );
});
