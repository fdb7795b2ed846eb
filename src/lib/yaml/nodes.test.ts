import { expect, test } from "vitest";
import { readYamlNodes, type YamlNode } from "./nodes.ts";

const limits = { maxDepth: 20, maxParts: 1_000 };

function documentsOf(text: string) {
  const read = readYamlNodes(text, limits);
  if (!read.ok) throw new Error(read.error.message);
  return read.value;
}

/** A node in one line: its kind or text, and where it stands. */
function shown(node: YamlNode): string {
  const at = `@${node.line}:${node.column}`;
  switch (node.kind) {
    case "alias":
      return `*${node.target}${at}`;
    case "scalar":
      return `${node.anchor === undefined ? "" : `&${node.anchor} `}${node.isPlain ? node.text : JSON.stringify(node.text)}${at}`;
    case "sequence":
      return `[${node.items.map(shown).join(", ")}]${at}`;
    case "mapping":
      return `{${node.members.map(({ key, value }) => `${shown(key)}: ${shown(value)}`).join(", ")}}${at}`;
  }
}

const rootOf = (text: string): string => documentsOf(text).map(({ root }) => (root ? shown(root) : "-"))[0] ?? "none";

test("every node has its place, words keep their spelling, and quotes are told from plain words", () => {
  expect(rootOf("a: yes\nb:\n  - 014\n  - 'x'\n")).toBe('{a@1:1: yes@1:4, b@2:1: [014@3:5, "x"@4:5]@3:3}@1:1');
});

test("CRLF counts as one end of a line", () => {
  expect(rootOf("a: 1\r\nb: 2\r\n")).toBe("{a@1:1: 1@1:4, b@2:1: 2@2:4}@1:1");
});

test("a value that is not written stands at its key", () => {
  expect(rootOf("a:\nb: 1\n")).toBe("{a@1:1: @1:1, b@2:1: 1@2:4}@1:1");
});

test("aliases, merge keys and repeated keys are left as they are", () => {
  expect(rootOf("a: &x 1\na: *x\n<<: *y\n")).toBe("{a@1:1: &x 1@1:7, a@2:1: *x@2:4, <<@3:1: *y@3:5}@1:1");
});

test("documents are told apart, with the places of those that are empty", () => {
  expect(documentsOf("")).toEqual([]);
  expect(documentsOf("# only\n")).toEqual([]);
  expect(documentsOf("a: 1\n---\n---\nb: 2\n").map(({ root, line }) => [root?.kind, line])).toEqual([
    ["mapping", 1],
    [undefined, 2],
    ["mapping", 4],
  ]);
});

test.each([
  ["a:\n\tb: 1\n", "yaml-syntax", 2],
  ["a: [1\n", "yaml-syntax", 2],
  ["a: \u0001\n", "yaml-syntax", 1],
  ["[".repeat(30), "yaml-depth", 1],
  ["- a\n".repeat(2_000), "yaml-size", 501],
])("what is wrong has no nodes, and its place is told: %#", (text, code, line) => {
  const read = readYamlNodes(text, limits);
  expect(read.ok ? undefined : { code: read.error.code, line: read.error.line }).toEqual({ code, line });
});
