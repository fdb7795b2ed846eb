import { expect, test } from "vitest";
import { harmless } from "./step-logs.ts";

test("a line of a step cannot steer the terminal", () => {
  expect(harmless("\u001b[31mred\u001b[2J\u0007 and\ttab\r")).toBe("red and\ttab");
  expect(harmless("plain é 日本")).toBe("plain é 日本");
});
