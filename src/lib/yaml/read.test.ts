import { expect, test } from "vitest";
import { formatProblem, type JsonValue } from "#lib/base/index.ts";
import { readYaml, type YamlDocument, type YamlReadOptions } from "./index.ts";

function documentsOf(text: string, options?: YamlReadOptions): readonly YamlDocument[] {
  const file = readYaml(text, options);
  if (!file.ok) throw new Error(file.error.map(formatProblem).join("\n"));
  return file.value.documents;
}
const valuesOf = (text: string): readonly JsonValue[] => documentsOf(text).map((document) => document.value);
const problemsOf = (text: string): readonly string[] => {
  const file = readYaml(text, { file: "f.yaml" });
  return (file.ok ? file.value.warnings : file.error).map(formatProblem);
};

test.each<readonly [string, JsonValue]>([
  ["yes", true],
  ["On", true],
  ["y", true],
  ["NO", false],
  ["off", false],
  ["n", false],
  ["yEs", "yEs"],
  ["~", null],
  ["NULL", null],
  ["0755", 493],
  ["0o17", 15],
  ["0x1F", 31],
  ["-0b11", -3],
  ["+12", 12],
  ["08", 8],
  ["1_000", 1000],
  ["1e3", 1000],
  ["1.5", 1.5],
  ["1.", 1],
  [".5", 0.5],
  ["-.5e-1", -0.05],
  ["1:30", "1:30"],
  ["12:30:45", "12:30:45"],
  ["2001-01-01", "2001-01-01"],
  ["1.2.3", "1.2.3"],
  ["1Gi", "1Gi"],
  ["-", null],
  [".", "."],
  ["0x", "0x"],
  ["_1", "_1"],
  ["'yes'", "yes"],
  ['"0755"', "0755"],
  ["!!str 0755", "0755"],
  ["!!int '12'", 12],
  ["!!bool 'on'", true],
  ["!!null ''", null],
  ["!!float 3", 3],
  ["!!timestamp 2001-01-01", "2001-01-01"],
  ["!!binary aGVsbG8=", "hello"],
  ["! 12", "12"],
  ["9007199254740991", 9007199254740991],
])("the scalar %s", (text, value) => {
  expect(valuesOf(text === "-" ? "- " : `- ${text}`)).toEqual([[value]]);
});

test("keys that are no texts become texts", () => {
  const text = "y: 1\nn: 2\n0755: 3\n1.50: 4\nfalse_: 5\n'~': 6\n? !!str 7\n: 8\n";
  expect(valuesOf(text)).toEqual([{ true: 1, false: 2, "493": 3, "1.5": 4, false_: 5, "~": 6, "7": 8 }]);
});

test("a text has as many documents as it marks", () => {
  expect(valuesOf("")).toEqual([]);
  expect(valuesOf("# only a comment\n")).toEqual([]);
  expect(valuesOf("---\n")).toEqual([null]);
  expect(valuesOf("a: 1\n---\n---\nb: 2\n...\n---\n# c\n")).toEqual([{ a: 1 }, null, { b: 2 }, null]);
});

test("%YAML directives do not change what words mean", () => {
  expect(valuesOf("%YAML 1.2\n---\na: yes\n")).toEqual([{ a: true }]);
});

test("merge keys merge, and the mapping itself wins", () => {
  const text = "base: &b {p: 1, q: 1}\nmore: &m {q: 2, r: 2}\nall:\n  q: 0\n  <<: [*b, *m]\n";
  expect(valuesOf(text)).toEqual([{ base: { p: 1, q: 1 }, more: { q: 2, r: 2 }, all: { q: 0, p: 1, r: 2 } }]);
  expect(valuesOf("a: {'<<': 1}")).toEqual([{ a: { "<<": 1 } }]);
});

test("an anchor can be set again", () => {
  expect(valuesOf("- &a 1\n- *a\n- &a 2\n- *a\n")).toEqual([[1, 1, 2, 2]]);
});

test("keys that name inherited members are ordinary keys", () => {
  const [value] = valuesOf("__proto__: {polluted: 1}\nconstructor: 2\nm:\n  <<: {__proto__: {polluted: 1}}\n");
  expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"constructor":2,"m":{"__proto__":{"polluted":1}}}');
  expect("polluted" in {}).toBe(false);
});

test.each<readonly [string, JsonValue]>([
  ["a: {b: 'x\ny', c: 1}\n", { a: { b: "x y", c: 1 } }],
  ['a:\n  b: [ "x\n y", 2]\n', { a: { b: ["x y", 2] } }],
  ['a:\n    b: "x\n\n  y"\n    c: 1\n', { a: { b: "x\ny", c: 1 } }],
  ["a: ['x\ny', 'p\nq', \"it's\nfine\"]\n", { a: ["x y", "p q", "it's fine"] }],
  ["a: {b: 'it''s\nok'}\n", { a: { b: "it's ok" } }],
  ['a: {b: "x\\\ny"}\n', { a: { b: "xy" } }],
  ["# it's\na: {b: 'x\r\ny'}\n", { a: { b: "x y" } }],
])("a quoted text continued with too little indentation is read: %j", (text, value) => {
  expect(valuesOf(text)).toEqual([value]);
});

test("places after a repaired quoted text are those of the original", () => {
  const [document] = documentsOf("a: {b: 'x\ny', c: 1}\nd: 2\n");
  expect(document?.positionOf(["a", "c"])).toEqual({ line: 2, column: 8 });
  expect(document?.positionOf(["d"])).toEqual({ line: 3, column: 4 });
});

test("a quoted text that is never closed is a problem, not a repair", () => {
  expect(problemsOf("a: {b: 'x\ny}\n")[0]).toMatch(/^f\.yaml:\d+:\d+: error: missing closing 'quote$/);
});

const placed = `apiVersion: v1
spec:
  steps:
    build:
      dependencies: [one, two]
      command:
      - sh
      - -c
  empty:
0755: x
`;

test.each<readonly [readonly (string | number)[], number, number]>([
  [[], 1, 1],
  [["apiVersion"], 1, 13],
  [["spec"], 2, 1],
  [["spec", "steps", "build", "dependencies"], 5, 21],
  [["spec", "steps", "build", "dependencies", 1], 5, 27],
  [["spec", "steps", "build", "command"], 6, 7],
  [["spec", "steps", "build", "command", 1], 8, 9],
  [["spec", "empty"], 9, 3],
  [["493"], 10, 7],
  [["spec", "steps", "biuld", "x"], 3, 3],
  [["spec", "steps", "build", "command", 7], 6, 7],
])("the path %j is at %d:%d", (path, line, column) => {
  const [document] = documentsOf(placed, { file: "f.yaml" });
  expect(document?.positionOf(path)).toEqual({ file: "f.yaml", line, column });
});

test("the place of a key is its own", () => {
  const [document] = documentsOf(placed);
  expect(document?.keyPositionOf(["apiVersion"])).toEqual({ line: 1, column: 1 });
  expect(document?.keyPositionOf(["spec", "steps", "build", "command", 0])).toEqual({ line: 7, column: 9 });
});

test("places behind an alias are those of its anchor", () => {
  const [document] = documentsOf("a: &x\n  b: 1\nc: *x\n");
  expect(document?.positionOf(["c"])).toEqual({ line: 3, column: 4 });
  expect(document?.positionOf(["c", "b"])).toEqual({ line: 2, column: 6 });
});

test.each<readonly [string, string, readonly (string | number)[], number, number]>([
  ["a repeated key is that of its last value", "a: 1\nb: 2\na: 3\n", ["a"], 3, 4],
  ["a merged member is at the mapping it was merged into", "x: &x {m: 1}\nz:\n  <<: *x\n  o: 2\n", ["z", "m"], 2, 1],
  ["a member of a key that reads as another word", "on:\n  yes: 1\n", ["true", "true"], 2, 8],
  ["an item of a list in a list", "- - a\n  - b\n- c\n", [0, 1], 2, 5],
  ["a key behind an alias", "- &k name\n- *k : x\n", [1, "name"], 2, 8],
  ["what is below a scalar is at the scalar", "a: text\n", ["a", "b", 0], 1, 4],
  ["an index into a mapping is at the mapping", "a: {b: 1}\n", ["a", 0], 1, 4],
  ["a name in a list is at the list", "a: [1]\n", ["a", "b"], 1, 4],
  ["a block text is at its marker", "a: |\n  x\n", ["a"], 1, 4],
  ["a list that is not indented is at its key", "a:\n- 1\n", ["a"], 1, 1],
  ["columns count UTF-16 code units", '"😀": {b: 1}\n', ["😀", "b"], 1, 11],
])("the place of %s", (_, text, path, line, column) => {
  const [document] = documentsOf(text, { duplicateKeys: "warning" });
  expect(document?.positionOf(path)).toEqual({ line, column });
});

test("places in the second document count from the start of the file", () => {
  const [, second] = documentsOf("a: 1\n---\nb: 2\n");
  expect(second?.positionOf(["b"])).toEqual({ line: 3, column: 4 });
});

test.each<readonly [string, readonly string[]]>([
  ["a: 1\nb: 2\na: 3\n", ['f.yaml:3:1: error: a: the key "a" is given more than once']],
  [
    "m: {x: 1, x: 2}\ny: 1\ntrue: 2\n",
    [
      'f.yaml:1:11: error: m.x: the key "x" is given more than once',
      'f.yaml:3:1: error: true: the key "true" is given more than once',
    ],
  ],
  ["a: *x\n", ["f.yaml:1:4: error: a: there is no anchor &x before the alias"]],
  ["a: &x [*x]\n", ["f.yaml:1:8: error: a[0]: the alias *x is inside its own anchor"]],
  ["<<: 1\n", ['f.yaml:1:1: error: a merge key "<<" takes a mapping or a list of mappings']],
  [
    "? [a]\n: 1\n~: 2\n",
    ["f.yaml:1:3: error: a key must be a text, found a list", "f.yaml:3:1: error: a key must be a text, found null"],
  ],
  [
    "a: .inf\nb: 9007199254740993\n",
    [
      "f.yaml:1:4: error: a: .inf has no JSON form; put it in quotes if it is a text",
      "f.yaml:2:4: error: b: the integer 9007199254740993 is beyond 2^53-1 and would lose digits; put it in quotes if it is a text",
    ],
  ],
  ["a: 1e999\n", ["f.yaml:1:4: error: a: the number 1e999 is too large"]],
  ["a: !!int x\n", ['f.yaml:1:10: error: a: "x" does not fit its tag tag:yaml.org,2002:int']],
  ["a: !!binary '%'\n", ["f.yaml:1:13: error: a: !!binary is not base64"]],
  ["a: !mine x\n", ["f.yaml:1:10: warning: a: the tag !mine is ignored"]],
  ["\ta: 1\n", ["f.yaml:1:1: error: tabs are not allowed as indentation"]],
  ["a: b: c\n", ["f.yaml:1:4: error: nested mappings are not allowed in compact mappings"]],
  ["a: [1, 2\nb: 1\n---\nc: {\n", [expect.stringMatching(/^f\.yaml:\d/), expect.stringMatching(/^f\.yaml:[45]:/)]],
])("%j has problems", (text, problems) => {
  expect(problemsOf(text)).toEqual(problems);
});

test("repeated keys can be warnings, and then the last value wins", () => {
  const file = readYaml("a: 1\na: 2\n", { duplicateKeys: "warning" });
  expect(file.ok && file.value.documents[0]?.value).toEqual({ a: 2 });
  expect(file.ok && file.value.warnings.map((warning) => [warning.severity, warning.path])).toEqual([["warning", "a"]]);
});

test("a file full of problems shows the first hundred and counts the rest", () => {
  const problems = problemsOf("a: 1\n".repeat(151));
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toBe("error: 50 more problems are not shown");
});

test("of many problems errors are shown before warnings, and all are counted", () => {
  const warnings = "- !mine x\n".repeat(150);
  expect(problemsOf(warnings).at(-1)).toBe("warning: 50 more problems are not shown");
  const mixed = problemsOf(`${warnings}- *none\n`);
  expect(mixed).toEqual([
    expect.stringContaining("there is no anchor &none"),
    "error: 150 more problems are not shown",
  ]);
  expect(problemsOf("- !mine x\n- *none\n")).toHaveLength(2);
});

test("thousands of problems below a very long key are found without writing each of them", () => {
  const problems = problemsOf(`? ${"k".repeat(300_000)}\n: {${"a: 1,".repeat(6_000)}}\n`);
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toBe("error: 5899 more problems are not shown");
});

test("200 levels of nesting are read and 201 are refused", () => {
  expect(readYaml("[".repeat(200) + "]".repeat(200)).ok).toBe(true);
  expect(problemsOf("[".repeat(201) + "]".repeat(201))).toEqual(["f.yaml:1:201: error: nested deeper than 200 levels"]);
});

test.each(["[", "{a: ", "- ", "? ", "[{a: "])("100,000 levels of %s are refused", (open) => {
  expect(problemsOf(open.repeat(100_000))[0]).toContain("nested deeper than 200 levels");
});

const bomb = (levels: number, merge: boolean): string =>
  ["a0: &a0 {x0: 1, y0: 2}"]
    .concat(
      Array.from({ length: levels }, (_, n) =>
        merge
          ? `a${n + 1}: &a${n + 1} {<<: *a${n}, x${n + 1}: 1}`
          : `a${n + 1}: &a${n + 1} [${Array.from({ length: 10 }, () => `*a${n}`).join(", ")}]`,
      ),
    )
    .join("\n");

test("aliases that multiply are refused", () => {
  expect(problemsOf(bomb(9, false))).toEqual([expect.stringContaining("aliases expand to too many nodes")]);
  expect(readYaml(bomb(3, false)).ok).toBe(true);
});

test("merges that multiply are refused", () => {
  expect(readYaml(bomb(50, true)).ok).toBe(true);
  expect(problemsOf(bomb(2_000, true))).toEqual([expect.stringContaining("merge keys copy too many members")]);
});

test("merges inside merges are refused where they copy too much, with the place of the key", () => {
  const members = Array.from({ length: 20_000 }, (_, n) => `k${n}: 1`).join(", ");
  const nested = (levels: number) => `a: 1\nb: ${"{<<: ".repeat(levels)}{${members}}${"}".repeat(levels)}\n`;
  expect(readYaml(nested(2)).ok).toBe(true);
  expect(problemsOf(nested(150))).toEqual([
    expect.stringMatching(/^f\.yaml:2:\d+: error: b: merge keys copy too many members/),
  ]);
});

test("one anchor used ten thousand times is an ordinary document", () => {
  const file = readYaml(`a: &a 1\nb: [${"*a,".repeat(10_000)}]\n`);
  expect(file.ok).toBe(true);
});
