import { expect, test } from "vitest";
import { codesOf, prepared } from "../testing/prepared.ts";
import { createReporter } from "./diagnostics.ts";
import type { Node } from "./node.ts";
import { readNodes } from "./read-nodes.ts";

/** A node as a value: of scalars their texts. */
function valueOf(node: Node | undefined): unknown {
  if (node === undefined) return undefined;
  if (node.kind === "scalar") return node.text;
  if (node.kind === "list") return node.items.map(valueOf);
  return Object.fromEntries(node.members.map(({ name, value }) => [name, valueOf(value)]));
}

function read(text: string) {
  const reporter = createReporter("f");
  const value = valueOf(readNodes(text, reporter));
  return { value, keys: Object.keys(value ?? {}), found: reporter.diagnostics().map(({ code }) => code) };
}

test("a byte order mark and CRLF change nothing, and an empty document behind the first is ignored aloud", () => {
  const text = "a:\r\n  b:\r\n    container: {image: x, cmds: [y]}\r\n";
  expect(codesOf(`\uFEFF${text}`)).toEqual([]);
  expect(codesOf(`${text}---\n`)).toEqual(["4:1 doc-extra (warning)"]);
});

test("a member wins over a merged one before and behind the merge key, and merged ones come first", () => {
  expect(read("x: &x {p: 1, q: 1}\na: {p: 2, <<: *x, r: 3}\nb: {<<: *x, p: 2}\n").value).toEqual({
    x: { p: "1", q: "1" },
    a: { q: "1", p: "2", r: "3" },
    b: { q: "1", p: "2" },
  });
  const { plan } = prepared(
    "s:\n  two: {container: {image: b, cmds: [b]}}\n  <<: {one: {container: {image: a, cmds: [a]}}, two: {container: {image: c, cmds: [c]}}}\n",
  );
  expect(plan?.stages[0]?.steps.map(({ stepId, step, image }) => [stepId, step, image])).toEqual([
    [1, "one", "a"],
    [2, "two", "b"],
  ]);
});

test("of a list of maps the earlier ones win", () => {
  expect(read("a:\n  <<: [{p: 1}, {p: 2, q: 2}]\n  r: 3\n").value).toEqual({ a: { p: "1", q: "2", r: "3" } });
});

test("only maps can be merged, and a merge key in quotes is a key", () => {
  expect(read("a: {<<: 1}\n").found).toEqual(["type"]);
  expect(read("a: {<<: [{p: 1}, 2]}\n").found).toEqual(["type"]);
  expect(read("a: {'<<': 1}\n")).toMatchObject({ value: { a: { "<<": "1" } }, found: [] });
});

test("a key that is repeated keeps its first value, and the second says where the first is", () => {
  const { diagnostics } = prepared("a:\n  b: {kubectl: {file: x}}\n  b: {kubectl: {file: y}}\n");
  expect(diagnostics).toMatchObject([
    { code: "key-duplicate", position: { line: 3, column: 3 }, related: [{ place: { line: 2, column: 3 } }] },
  ]);
  expect(read("a: 1\na: 2\n").value).toEqual({ a: "1" });
  expect(read("__proto__: 1\nconstructor: 2\n").keys).toEqual(["__proto__", "constructor"]);
});

test("an alias stands for its anchor's latest node, at its own place", () => {
  expect(read("a: &x 1\nb: &x 2\nc: *x\n").value).toEqual({ a: "1", b: "2", c: "2" });
  expect(codesOf("x: &x 12\na: {b: {container: {image: *x, cmds: [y]}}}\n")).toContain("2:28 type");
  expect(codesOf("a: *nobody\n")).toEqual(["1:4 yaml-syntax"]);
});

test.each([
  ["a: &x {b: *x}\n", "1:11 alias-cycle"],
  ["a: &x [1, {b: [*x]}]\n", "1:16 alias-cycle"],
])("%s contains itself", (text, code) => {
  expect(codesOf(text)).toEqual([code]);
});

/** Each line is ten of the line before. */
const bomb = [
  "a0: &a0 [x, x, x, x, x, x, x, x, x, x]",
  ...Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(", ")}]`),
].join("\n");

test("aliases that multiply, and nesting without end, are stopped", () => {
  expect(read(bomb).found).toEqual(["alias-bomb"]);
  const merging = bomb.replaceAll("[", "{<<: [").replaceAll("]", "]}").replaceAll("x", "{x: 1}");
  expect(read(merging).found).toEqual(["alias-bomb"]);
  expect(read("[".repeat(150)).found).toEqual(["alias-bomb"]);
  const nested = Array.from({ length: 120 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}]`).join("\n");
  expect(read(`a0: &a0 x\n${nested}\n`).found).toEqual(["alias-bomb"]);
});
