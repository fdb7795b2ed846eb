import { CST, Parser } from "yaml";
import { expect, test } from "vitest";
import { repairQuotedScalars } from "./parse.ts";

const parse = (text: string): readonly CST.Token[] => [...new Parser().parse(text)];

test("continuation lines are indented behind their opening quote, and counted", () => {
  const { text, insertions } = repairQuotedScalars("a: {b: 'x\ny\n z', c: 1}\n", parse);
  expect(text).toBe("a: {b: 'x\n        y\n         z', c: 1}\n");
  expect([...insertions]).toEqual([
    [2, 8],
    [3, 8],
  ]);
});

test("a line that is part of two quoted texts counts both insertions", () => {
  const { text, insertions } = repairQuotedScalars("a: ['x\ny', 'p\nq']\n", parse);
  expect(text.split("\n").map((line) => line.trimStart())).toEqual(["a: ['x", "y', 'p", "q']", ""]);
  expect(insertions.get(2)).toBe(5);
  expect(insertions.get(3)).toBeGreaterThan(5);
});

test.each([
  ["nothing quoted", "a: [1,\n2]\n"],
  ["quotes on one line", "a: 'x'\nb: \"y\"\n"],
  ["continued with enough indentation", "a:\n  b: 'x\n    y'\n"],
  ["an apostrophe in plain text", "a: it's\nb: isn't\n"],
  ["a quote in a comment", "a: 1 # it's\nb: 2\n"],
  ["a quote in a block text", "a: |\n  it's\n  fine\n"],
  ["never closed", "a: {b: 'x\ny}\n"],
  ["a document marker inside", "a: {b: 'x\n---\ny'}\n"],
])("a text with %s stays as it is", (_, source) => {
  expect(repairQuotedScalars(source, parse)).toEqual({ text: source, insertions: new Map() });
});

test("a file with very many broken texts is given up after a bounded amount of work", () => {
  const source = `a: {${"b: 'x\ny',".repeat(5_000)}}`;
  let parsed = 0;
  repairQuotedScalars(source, (text) => {
    parsed += text.length;
    return parse(text);
  });
  expect(parsed).toBeLessThan(1_000_000);
});

test("a large document on one line is looked at once", () => {
  // Quadratic work would take longer than a test may.
  const source = `[${'"x",'.repeat(1_000_000)}1]`;
  let parsed = 0;
  repairQuotedScalars(source, (text) => {
    parsed += text.length;
    return [];
  });
  expect(parsed).toBe(0);
});
