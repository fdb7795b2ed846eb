import { describe, expect, test } from "vitest";
import { formatProblem, type JsonValue } from "#lib/base/index.ts";
import { readYaml } from "./index.ts";

const read = (text: string) => {
  const file = readYaml(text, { file: "f" });
  return file.ok
    ? { values: file.value.documents.map(({ value }) => value), notes: file.value.warnings.map(formatProblem) }
    : { notes: file.error.map(formatProblem) };
};

describe("styles of text", () => {
  test.each<readonly [string, JsonValue]>([
    ["a: b #c", "b"],
    ["a: b#c", "b#c"],
    ["a: 'it''s'", "it's"],
    ['a: "\\x41\\u0042\\U00000043\\n\\t\\\\\\""', 'ABC\n\t\\"'],
    ["a: |\n  x\n   y\n\n  z\n", "x\n y\n\nz\n"],
    ["a: >\n  x\n  y\n\n  z\n", "x y\nz\n"],
    ["a: |-\n  x\n", "x"],
    ["a: |+\n  x\n\n", "x\n\n"],
    ["a: |2\n    x\n", "  x\n"],
    ["a: x\n  y\n\n  z", "x y\nz"],
    ["a: \u0085b\u2028", "\u0085b\u2028"],
    ["\ufeffa: x", "x"],
    ["a: x\r\n", "x"],
  ])("%j", (text, value) => {
    expect(read(text)).toEqual({ values: [{ a: value }], notes: [] });
  });
});

describe("collections", () => {
  test.each<readonly [string, JsonValue]>([
    ["a:b", "a:b"],
    ["? a\n? b", { a: null, b: null }],
    ["{a, b: 1}", { a: null, b: 1 }],
    ["[a: 1, b: 2]", [{ a: 1 }, { b: 2 }]],
    ["{? a : 1}", { a: 1 }],
    ["'': x", { "": "x" }],
    ["? |\n  a\n: b", { "a\n": "b" }],
    ["a:\n- 1\n-\n  - 2", { a: [1, [2]] }],
    ["a: !!set {b, c}", { a: { b: null, c: null } }],
    ["a: !!omap [b: 1]", { a: [{ b: 1 }] }],
    ["a: !!map {b: !!seq [1]}", { a: { b: [1] } }],
  ])("%j", (text, value) => {
    expect(read(text)).toEqual({ values: [value], notes: [] });
  });
});

describe("tags", () => {
  test.each<readonly [string, JsonValue]>([
    ["a: !!int 0x1F", 31],
    ["a: !!int '12'", 12],
    ["a: !!float 1e3", 1000],
    ["a: !!float 3", 3],
    ["a: !!bool 'on'", true],
    ["a: !!null", null],
    ["a: !!str", ""],
    ["a: !!str 0755", "0755"],
    ["a: ! 1", "1"],
    ["a: !<tag:yaml.org,2002:int> 5", 5],
    ["? !!str a\n: x", "x"],
  ])("%j", (text, value) => {
    expect(read(text)).toEqual({ values: [{ a: value }], notes: [] });
  });

  test.each([
    ["a: !!int 1.5", 'f:1:10: error: a: "1.5" does not fit its tag tag:yaml.org,2002:int'],
    ["a: !!int yes", 'f:1:10: error: a: "yes" does not fit its tag tag:yaml.org,2002:int'],
    ["a: !!float x", 'f:1:12: error: a: "x" does not fit its tag tag:yaml.org,2002:float'],
    ["a: !!bool 1", 'f:1:11: error: a: "1" does not fit its tag tag:yaml.org,2002:bool'],
    ["a: !!null x", 'f:1:11: error: a: "x" does not fit its tag tag:yaml.org,2002:null'],
    ["a: !!binary '%'", "f:1:13: error: a: !!binary is not base64"],
    ["a: !!unknown 5", "f:1:14: warning: a: the tag tag:yaml.org,2002:unknown is ignored"],
    ["%TAG !e! tag:x,2000:\n---\na: !e!y 5", "f:3:9: warning: a: the tag tag:x,2000:y is ignored"],
  ])("%j", (text, note) => {
    expect(read(text).notes).toEqual([note]);
  });
});

describe("anchors, aliases and merge keys", () => {
  test.each<readonly [string, JsonValue]>([
    ["a: &x", { a: null }],
    ["a: &x 1\n*x : 2", { a: 1, "1": 2 }],
    ["- &a [1]\n- *a\n- {b: *a}", [[1], [1], { b: [1] }]],
    ["- &a {x: &b 1}\n- *b", [{ x: 1 }, 1]],
    ["<<: {a: 1}\n<<: {a: 2, b: 3}", { a: 1, b: 3 }],
    ["a: &a {x: 1}\nb: {<<: *a, x: 2}", { a: { x: 1 }, b: { x: 2 } }],
    ["{x: 2, <<: {x: 1, z: 3}}", { x: 2, z: 3 }],
    ["{<<: [{a: 1}, {a: 2, b: 2}]}", { a: 1, b: 2 }],
    ["{<<: [], a: 1}", { a: 1 }],
    ["{<<: {<<: {a: 1}, b: 2}}", { a: 1, b: 2 }],
    ["a: <<", { a: "<<" }],
    ["- <<", ["<<"]],
  ])("%j", (text, value) => {
    expect(read(text)).toEqual({ values: [value], notes: [] });
  });

  test.each<readonly [string, readonly string[]]>([
    ["*x : 1", ["f:1:1: error: there is no anchor &x before the alias"]],
    ["a: {<<: *x}", ["f:1:9: error: a: there is no anchor &x before the alias"]],
    ["a: {<<: null}", ['f:1:5: error: a: a merge key "<<" takes a mapping or a list of mappings']],
    ["a: {<<: [{x: 1}, 2]}", ['f:1:5: error: a: a merge key "<<" takes a mapping or a list of mappings']],
    ["a: &x {b: *x}", ["f:1:11: error: a.b: the alias *x is inside its own anchor"]],
    ["- *a\n- &a 1", ["f:1:3: error: [0]: there is no anchor &a before the alias"]],
    ["&a 1\n---\n*a", ["f:3:1: error: there is no anchor &a before the alias"]],
  ])("%j", (text, notes) => {
    expect(read(text)).toEqual({ notes });
  });

  test("aliases of one anchor share one value", () => {
    const [value] = read("- &a {x: 1}\n- *a").values ?? [];
    expect(Array.isArray(value) && value[0] === value[1]).toBe(true);
  });
});

describe("keys", () => {
  test.each([
    ["{'a': 1, \"a\": 2, a: 3}", ["f:1:10", "f:1:18"], "a"],
    ["{1: a, '1': b}", ["f:1:8"], "1"],
    ["{0x1: a, 1: b}", ["f:1:10"], "1"],
    ["{yes: a, true: b}", ["f:1:10"], "true"],
    ["{1.0: a, 1: b}", ["f:1:10"], "1"],
    ["? &k a\n: 1\n? *k\n: 2", ["f:3:3"], "a"],
  ])("%j repeats a key", (text, places, key) => {
    const error = `error: ${key}: the key ${JSON.stringify(key)} is given more than once`;
    expect(read(text).notes).toEqual(places.map((place) => `${place}: ${error}`));
  });

  test.each([
    ["~: a", "null"],
    [": a", "null"],
    ["? {a: 1}\n: b", "a mapping"],
    ["? [a]\n: b", "a list"],
  ])("%j has a key that is no text", (text, found) => {
    expect(read(text).notes).toEqual([expect.stringMatching(`^f:1:\\d: error: a key must be a text, found ${found}$`)]);
  });
});

test.each([
  ["a: x\u0000", "f:1:5", "\\u0000"],
  ["a: 1\nb: '\u001b[0m'", "f:2:5", "\\u001b"],
  ["# \u0007\n", "f:1:3", "\\u0007"],
  ["a: \f", "f:1:4", "\\f"],
])("the control character in %j is refused", (text, place, shown) => {
  const message = `the control character "${shown}" is not allowed; write it as an escape in double quotes`;
  expect(read(text).notes).toContain(`${place}: error: ${message}`);
});
