import { expect, test } from "vitest";
import { LongestTurn, longestHold } from "./loop-delay.ts";

test("the longest turn is told once, and waiting between turns is none", () => {
  let spent = 7;
  const turns = new LongestTurn(() => spent);
  const turn = (ms: number) => {
    spent += ms;
    turns.tick();
  };
  for (const ms of [1, 40, 0, 3]) turn(ms);
  expect(turns.read()).toBe(40);
  expect(turns.read()).toBe(0);
  turn(2);
  spent += 50;
  expect(turns.read()).toBe(2);
  turn(0);
  expect(turns.read()).toBe(0);
});

test("a turn of this thread that is full of work counts", async () => {
  longestHold();
  // Other threads of the process share what it has spent, so that not every round is this thread's alone.
  const work = () => {
    for (const end = process.cpuUsage().user + 40_000; process.cpuUsage().user < end; );
    return new Promise((resolve) => setTimeout(resolve, 5)).then(longestHold);
  };
  await expect.poll(work).toBeGreaterThanOrEqual(30);
});
