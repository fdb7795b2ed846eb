import { expect, test } from "vitest";
import { oneLine } from "./one-line.ts";

test.each([
  ["plain text", "Deploy größe 日本 🎉?", "Deploy größe 日本 🎉?"],
  ["lines of a block", "first\n  second\r\n\nthird\n", "first second third"],
  ["tabs", "a\tb", "a b"],
  ["sequences that clear or colour a screen", "x\u001b[2J\u001b[31my\u009b1mz\u0007", "x[2J[31my1mz"],
  ["separators of Unicode that some terminals break lines at", "a\u2028b", "a b"],
  ["blanks that were meant", "  a  b ", "  a  b "],
])("one line of %s", (_what, text, line) => {
  expect(oneLine(text)).toBe(line);
});
