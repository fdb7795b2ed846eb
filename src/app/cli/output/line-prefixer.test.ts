import { expect, test } from "vitest";
import { LinePrefixer } from "./line-prefixer.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("every line gets the label, also when it arrives in pieces", () => {
  const lines = new LinePrefixer("a | ");
  expect(lines.push(bytes("one\ntw"))).toBe("a | one\n");
  expect(lines.push(bytes("o\n"))).toBe("a | two\n");
  expect(lines.end()).toBe("");
});

test("a last line without an end is printed at the end", () => {
  const lines = new LinePrefixer("a | ");
  expect(lines.push(bytes("x"))).toBe("");
  expect(lines.end()).toBe("a | x\n");
});

test("a character cut in two is put together", () => {
  const lines = new LinePrefixer("");
  const [first, second] = [bytes("é\n").slice(0, 1), bytes("é\n").slice(1)];
  expect(lines.push(first) + lines.push(second)).toBe("é\n");
});

test("a line beyond the limit is not held back", () => {
  expect(new LinePrefixer("a | ").push(bytes("x".repeat(70_000)))).toHaveLength(70_000 + 5);
});
