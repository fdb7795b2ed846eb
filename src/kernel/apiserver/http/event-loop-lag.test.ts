import { expect, test } from "vitest";
import { EventLoopLag } from "./event-loop-lag.ts";
import { waitUntil } from "../testing/index.ts";

test("a loop that was held up shows it at the next look, and only there", async () => {
  const lag = new EventLoopLag();
  expect(lag.read()).toEqual([]);
  // The timer has to have begun before it can be late.
  let worst = 0;
  await waitUntil(async () => {
    const until = performance.now() + 120;
    while (performance.now() < until);
    await new Promise((resolve) => setImmediate(resolve));
    worst = lag.read().find(({ labels }) => labels["quantile"] === "1")?.value ?? 0;
    return worst >= 0.09;
  });
  expect(worst).toBeLessThan(60);
  lag.close();
});

test("every sample is a delay: never below zero, with a quantile", async () => {
  const lag = new EventLoopLag();
  lag.read();
  await new Promise((resolve) => setImmediate(resolve));
  const samples = lag.read();
  expect(samples.map(({ labels }) => labels)).toEqual([{ quantile: "0.5" }, { quantile: "0.99" }, { quantile: "1" }]);
  for (const { value } of samples) expect(value).toBeGreaterThanOrEqual(0);
  lag.close();
});

test("after the close it begins anew, and a second close is harmless", () => {
  const lag = new EventLoopLag();
  lag.read();
  lag.close();
  lag.close();
  expect(lag.read()).toEqual([]);
  lag.close();
});
