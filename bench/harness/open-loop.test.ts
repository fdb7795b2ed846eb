import { expect, test } from "vitest";
import { atRate } from "./open-loop.ts";

test("as many operations are begun as were due, none before its time, and none waits for another", async () => {
  const began: number[] = [];
  let open = 0;
  let mostOpen = 0;
  const { startMs, writes } = await atRate({ ms: 50, perSecond: 200 }, async () => {
    began.push(Number(process.hrtime.bigint()) / 1e6);
    mostOpen = Math.max(mostOpen, ++open);
    // Until the last one has begun.
    while (began.length < 10) await new Promise((resolve) => setImmediate(resolve));
    open--;
  });
  expect(writes).toBe(10);
  expect(began).toHaveLength(10);
  expect(mostOpen).toBe(10);
  began.forEach((at, index) => expect(at).toBeGreaterThanOrEqual(startMs + index * 5));
});

test("an operation that fails is the load's failure", async () => {
  const failing = atRate({ ms: 1, perSecond: 1000 }, () => Promise.reject(new Error("refused")));
  await expect(failing).rejects.toThrow("refused");
});
