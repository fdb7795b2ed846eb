import { expect, test } from "vitest";
import { failures, formatElapsed } from "./messages.ts";

test.each([
  [300, "300ms"],
  [1500, "1s500ms"],
  [60_000, "1m"],
  [5_400_000, "1h30m"],
  [3_723_004, "1h2m3s4ms"],
])("a limit of %i ms is told exactly", (limit, text) => {
  expect(failures.actionTimeout("a", limit)).toBe(`action "a" exceeded its timeout of ${text}`);
});

test.each([
  [0, "0ms"],
  [3045, "3s45ms"],
  [3_723_004, "1h2m"],
  [-3_600_000, "0ms"],
])("what took %i ms is told in its two largest units, and never as less than nothing", (took, text) => {
  expect(formatElapsed(took)).toBe(text);
});
