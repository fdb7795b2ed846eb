import { expect, test } from "vitest";
import { inParallel } from "./in-parallel.ts";

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
