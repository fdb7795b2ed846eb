import { expect, test } from "vitest";
import { consoleLog, logLevels } from "./own-log.ts";

test.each([
  ["debug", ["debug a=1", "info a=1", "warn a=1", 'error a=1 why="two words"']],
  ["info", ["info", "warn", "error"]],
  ["warn", ["warn", "error"]],
  ["error", ["error"]],
] as const)("with %s the lines are %j", (level, expected) => {
  let text = "";
  const log = consoleLog(level, (more) => (text += more)).with({ a: 1, none: undefined });
  for (const each of logLevels) log[each](each, each === "error" ? { why: new Error("two words") } : {});
  expect(text).toBe(expected.map((line) => `slipway: ${line}\n`).join(""));
});
