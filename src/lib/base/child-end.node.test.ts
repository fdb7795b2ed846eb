import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { childEnd } from "./child-end.node.ts";
import { FakeClock } from "./index.ts";

/** A clock whose next timers are as late as it is told, as those of a process that stood still. */
class LateClock extends FakeClock {
  stall: number = 0;

  override after(delay: number, run: () => void) {
    return super.after(Math.max(delay, this.stall), run);
  }
}

test("what a program leaves running keeps its outputs for a second in which this process is at work", async () => {
  const clock = new LateClock();
  // A group of its own, so that what is left of it can be ended.
  const child = spawn("sh", ["-c", "sleep 600 &"], { stdio: ["ignore", "pipe", "pipe"], detached: true });
  const { pid } = child;
  onTestFinished(() => void (pid !== undefined && process.kill(-pid)));
  clock.stall = 60_000;
  const end = childEnd(child, clock);
  await once(child, "exit");
  clock.stall = 0;
  await clock.advance(60_000);
  await clock.advance(874);
  expect(child.stdout.destroyed).toBe(false);
  await clock.advance(1);
  expect(await end).toBe(0);
  expect([child.stdout.destroyed, child.stderr.destroyed]).toEqual([true, true]);
});

test("a program that cannot be started is told, and of one that was killed there is no code", async () => {
  const clock = new FakeClock();
  await expect(childEnd(spawn("/nowhere/program"), clock)).rejects.toMatchObject({ code: "ENOENT" });
  const killed = spawn("sleep", ["600"]);
  const end = childEnd(killed, clock);
  killed.kill("SIGKILL");
  expect(await end).toBeNull();
});
