import { expect, test } from "vitest";
import { longestHold } from "./loop-delay.ts";

const turn = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function work(ms: number): void {
  for (const end = process.cpuUsage().user + ms * 1000; process.cpuUsage().user < end; );
}

test.runIf(process.platform === "linux")(
  "a turn full of work counts, a sleep does not, and each is told once",
  async () => {
    longestHold();
    await turn(5);
    longestHold();
    work(40);
    await turn(5);
    expect(longestHold()).toBeGreaterThanOrEqual(30);
    // Nothing else runs in between but the timers of the test's own process.
    await turn(200);
    expect(longestHold()).toBeLessThan(150);
  },
);
