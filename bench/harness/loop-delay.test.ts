import { expect, test } from "vitest";
import { LongestTurn, longestHold } from "./loop-delay.ts";

test("the longest turn is told once; neither waiting for a processor nor other threads make one longer", () => {
  let wallMs = 3;
  let cpuMs = 7;
  const turns = new LongestTurn(() => ({ wallMs, cpuMs }));
  const turn = (wall: number, cpu: number) => {
    wallMs += wall;
    cpuMs += cpu;
    turns.tick();
  };
  for (const ms of [1, 40, 0, 3]) turn(ms, ms);
  expect(turns.read()).toBe(40);
  expect(turns.read()).toBe(0);
  turn(60, 2);
  expect(turns.read()).toBe(2);
  turn(5, 9);
  expect(turns.read()).toBe(5);
  turn(2, 2);
  wallMs += 50;
  cpuMs += 50;
  expect(turns.read()).toBe(2);
  turn(0, 0);
  expect(turns.read()).toBe(0);
});

test("a turn of this thread that is full of work counts", async () => {
  longestHold();
  const work = () => {
    for (const end = process.cpuUsage().user + 40_000; process.cpuUsage().user < end; );
    return new Promise((resolve) => setTimeout(resolve, 60)).then(longestHold);
  };
  await expect.poll(work).toBeGreaterThanOrEqual(30);
});
