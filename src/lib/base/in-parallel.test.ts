import { expect, test } from "vitest";
import { inGrowingBatches, inParallel } from "./in-parallel.ts";

const items = Array.from({ length: 40 }, (_, index) => index);
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("all items are run, sixteen at a time", async () => {
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  await inParallel(items, async (item) => {
    most = Math.max(most, ++running);
    await turn();
    seen.push(item);
    running--;
  });
  expect([seen.sort((a, b) => a - b), most]).toEqual([items, 16]);
});

test("a width of one keeps the order, and nothing to do is done", async () => {
  const seen: number[] = [];
  await inParallel(
    [3, 1, 2],
    async (item) => {
      await turn();
      seen.push(item);
    },
    1,
  );
  await inParallel([], () => Promise.reject(new Error("never run")), 1);
  expect(seen).toEqual([3, 1, 2]);
});

test("after a failure nothing is begun, and what is under way ends before it is told", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const failure = inParallel(items, async (item) => {
    begun.push(item);
    await turn();
    if (item === 3) throw new Error("refused");
    await turn();
    await turn();
    ended.push(item);
  });
  await expect(failure).rejects.toThrow("refused");
  expect(begun).toHaveLength(16);
  expect(ended).toHaveLength(15);
});

test("growing batches do everything once, and stop at the first batch with a refusal", async () => {
  const items = Array.from({ length: 20 }, (_, index) => index);
  const done: number[] = [];
  await inGrowingBatches(items, async (item) => void done.push(item));
  expect(done).toEqual(items);
  const tried: number[] = [];
  const refuse = (from: number) => async (item: number) => {
    tried.push(item);
    if (item >= from) throw new Error("no more");
  };
  await expect(inGrowingBatches(items, refuse(0))).rejects.toThrow("no more");
  expect(tried).toEqual([0]);
  await expect(inGrowingBatches(items, refuse(2))).rejects.toThrow("no more");
  expect(tried.slice(1)).toEqual([0, 1, 2]);
});
