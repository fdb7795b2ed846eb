import { expect, test } from "vitest";
import { endingAfter, endingOfCode, exitStateOf } from "./exit-codes.ts";

// Specification 7.3: exit code, job State, ExitState, what the agent does then.
const table = [
  [0, "finished", "complete", undefined],
  [16, "finished", "stop", "stop"],
  [32, "finished", "poweroff", "poweroff"],
  [64, "finished", "reboot", "reboot"],
  [128, "incomplete", "complete", undefined],
  [144, "incomplete", "stop", "stop"],
  [160, "incomplete", "poweroff", "poweroff"],
  [192, "incomplete", "reboot", "reboot"],
  [96, "failed", "failed", undefined],
  [1, "failed", "failed", undefined],
  [48, "failed", "failed", undefined],
  [137, "failed", "failed", undefined],
] as const;

test.each(table)("15.18 exit code %i makes the job %s with ExitState %s", (code, state, exitState, then) => {
  const ending = endingOfCode(code, true);
  expect(ending.state).toBe(state);
  expect(ending.asks).toBe(then);
  expect(exitStateOf(ending)).toBe(exitState);
});

test.each([
  [0, "finished", undefined],
  [1, "finished", "reboot"],
  [2, "incomplete", undefined],
  [3, "incomplete", "reboot"],
  [64, "failed", undefined],
] as const)("7.3 with original exit codes %i makes the job %s", (code, state, then) => {
  const ending = endingOfCode(code, false);
  expect([ending.state, ending.asks]).toEqual([state, then]);
});

test("7.3 a script that asks for a reboot before the last action leaves the job incomplete", () => {
  expect(endingAfter(endingOfCode(64, true), false)).toEqual({ state: "incomplete", asks: "reboot" });
  expect(endingAfter(endingOfCode(64, true), true)).toEqual({ state: "finished", asks: "reboot" });
  expect(endingAfter(endingOfCode(0, true), false)).toBeUndefined();
  expect(endingAfter(endingOfCode(128, true), false)).toEqual({ state: "incomplete" });
});
