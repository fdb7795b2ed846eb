import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { type CelEnvironment, compileExpression } from "./index.ts";

// The language itself: what the CEL library must go on doing when its version changes, and what this folder adds to it.

const environment: CelEnvironment = {
  variables: {
    self: "dyn",
    items: "list<int>",
    counts: "map<string, int>",
    flag: "bool",
    unsigned: "uint",
    real: "double",
  },
};
const bindings: JsonObject = {
  self: { a: 1, b: { c: { d: null } }, n: null, "a-b": 3 },
  items: [1, 2, 3],
  counts: { a: 1 },
  flag: true,
  unsigned: 5,
  real: 2,
};

const evaluate = (source: string) => {
  const program = compileExpression(source, environment);
  if (!program.ok) throw new Error(`${program.error.message} at ${program.error.column}`);
  return program.value.evaluate(bindings);
};

describe("values", () => {
  test.each<readonly [string, JsonValue]>([
    ["1 + 2 * 3 - 4 / 2", 5],
    ["(1 + 2) * 3", 9],
    ["2 - 1 - 1 + 8 / 4 / 2", 1],
    ["-2 * -3 + - 2", 4],
    ["!true || true", true],
    ["true && false || true", true],
    ["1 < 2 == true", true],
    ["true ? 1 : false ? 2 : 3", 1],
    ["0x1F + 0xFF", 286],
    ["1e3 + 1.5e-3", 1000.0015],
    ["unsigned + 0xFFu", 260],
    ["real / 4.0 + 1", 1.5],
    ["true // comment", true],
    ["1 + // comment\n 2", 3],
    ["'\\x41\\u0042\\U00000043\\101'", "ABCA"],
    ["r'\\n'.size() + '\\n'.size()", 3],
    ["'''a\n'b''' + \"\"\"c\"d\"\"\"", "a\n'bc\"d"],
    ["b'\\xff\\x00'", "/wA="],
    ["[1, 'a', null, 1.5, true, [1u], {'b': 2},]", [1, "a", null, 1.5, true, [1], { b: 2 }]],
    ["{1: 'a', 2u: 'b', true: 'c', 'd': 'e'}", { "1": "a", "2": "b", true: "c", d: "e" }],
    ["self.b.c", { d: null }],
    ["self['a-b'] + self.a + counts['a'] + counts.a", 6],
    ["items[0] + items[2]", 4],
    ["size([1]) + size({'a': 1}) + size('ä') + size(b'ä')", 4],
    ["self.?b.?c.?d", null],
    ["[self.?a, self.?zz, self.?zz.?y, self[?'a']]", [1, null, null, 1]],
    ["items[?7].orValue(0) + optional.of(1).or(optional.of(2)).value()", 1],
    ["optional.none().or(optional.of(2)).value()", 2],
    ["[int, string, list, map, bytes, type]", ["int", "string", "list", "map", "bytes", "type"]],
  ])("%s is %j", (source, value) => {
    expect(evaluate(source)).toEqual({ ok: true, value });
  });
});

describe("what is true", () => {
  test.each([
    "self == self && self != {'a': 1} && [1, 'a', null] == [1, 'a', null]",
    "{'a': 1, 'b': [2]} == {'b': [2], 'a': 1} && {'a': 1} != {'a': 2}",
    "null == self.n && self.n == null && has(self.n) && has(self.b.c.d)",
    "!has(self.zz) && !has(self.b.zz) && 'a' in self && !('zz' in self)",
    "1 in items && !(4 in items) && 'a' in counts",
    "'a' < 'b' && 'A' < 'a' && '' < 'a' && true > false",
    "type(1) == int && type(unsigned) == uint && type(real) == double && type(type(1)) == type",
    "type([]) == list && type({}) == map && type(null) == null_type && type(b'') == bytes",
    "{1u: 'a'}[1] == 'a' || true",
    "cel.bind(a, 1, cel.bind(b, a + 1, a + b)) == 3 && cel.bind(self, 5, self) == 5",
    "optional.of(1).hasValue() && !optional.none().hasValue()",
  ])("%s", (source) => {
    expect(evaluate(source)).toEqual({ ok: true, value: true });
  });
});

describe("macros", () => {
  test.each<readonly [string, JsonValue]>([
    ["items.map(x, x * x)", [1, 4, 9]],
    ["items.map(x, x > 1, x * 2)", [4, 6]],
    ["items.filter(x, x % 2 == 1)", [1, 3]],
    ["{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]],
    ["{'a': 1, 'b': 2}.filter(k, k == 'b')", ["b"]],
    ["{'a': 1}.all(k, k == 'a') && !{'a': 1}.exists(k, k == 'b')", true],
    ["[].all(x, false) && ![].exists(x, true) && ![].exists_one(x, true)", true],
    ["[1, 1].exists_one(x, x == 1) || [2].exists_one(x, x == 1)", false],
    ["[[1, 2], [3]].map(x, x.map(y, y + 1))", [[2, 3], [4]]],
    ["[1, 2].map(x, [x].map(x, x + 1))", [[2], [3]]],
    ["items.map(x, items.filter(y, y > x).size())", [2, 1, 0]],
  ])("%s is %j", (source, value) => {
    expect(evaluate(source)).toEqual({ ok: true, value });
  });
});

describe("an error that cannot change the answer is no error", () => {
  test.each<readonly [string, boolean]>([
    ["false && 1 / 0 == 1", false],
    ["1 / 0 == 1 && false", false],
    ["true || 1 / 0 == 1", true],
    ["1 / 0 == 1 || true", true],
    ["[0, 1].exists(x, 1 / x == 1)", true],
    ["[1, 0].exists(x, 1 / x == 1)", true],
    ["[2, 0].all(x, 1 / x == 1)", false],
    ["[0, 2].all(x, 1 / x == 1)", false],
    ["true ? true : 1 / 0 == 1", true],
  ])("%s is %s", (source, value) => {
    expect(evaluate(source)).toEqual({ ok: true, value });
  });

  test.each([
    "1 / 0 == 1 && true",
    "1 / 0 == 1 || false",
    "[0, 2].exists(x, 1 / x == 1)",
    "[0, 1].all(x, 1 / x == 1)",
    "[0, 1].exists_one(x, 1 / x == 1)",
    "[0].map(x, 1 / x)",
    "[0].filter(x, 1 / x == 1)",
    "1 / 0 == 1 ? 1 : 2",
  ])("%s fails", (source) => {
    expect(evaluate(source)).toEqual({ ok: false, error: "division by zero" });
  });
});

describe("what fails", () => {
  test.each([
    ["self.a.b", "no such key: b"],
    ["counts['zz']", "no such key: zz"],
    ["items[3]", "no such key: index out of bounds, index 3 >= size 3"],
    ["items[-1]", "no such key: index out of bounds, index -1 < 0"],
    ["self[0]", "no such key: 0"],
    ["dyn('a') + dyn(1)", "no such overload: string + int"],
    ["dyn(1) ? 1 : 2", "ternary condition must be bool, got 'int'"],
    ["optional.none().value()", "optional value is not present"],
    ["{'a': 1, 'a': 2}", "a map literal repeats a key"],
    ["{1: 'a', 1u: 'b'}", "a map literal repeats a key"],
    ["{2u: 'a', 2u: 'b'}", "a map literal repeats a key"],
    ["{1.5: 1}", "a key of a map must be a string, an int, a uint or a bool"],
    ["{null: 1}", "a key of a map must be a string, an int, a uint or a bool"],
    ["{[1]: 1}", "a key of a map must be a string, an int, a uint or a bool"],
    ["{1: 'a', '1': 'b'}", "two keys of the result are the same in JSON"],
    ["{true: 'a', 'true': 'b'}", "two keys of the result are the same in JSON"],
  ])("%s fails with a message", (source, message) => {
    expect(evaluate(source)).toEqual({ ok: false, error: message });
  });

  test("a negative number is no uint, and a fraction neither", () => {
    const program = compileExpression("unsigned + 1u", environment);
    for (const unsigned of [-1, 1.5]) {
      expect(program.ok && program.value.evaluate({ unsigned })).toMatchObject({
        ok: false,
        error: expect.stringContaining("variable 'unsigned' is not of type 'uint'"),
      });
    }
  });
});

describe("what does not compile", () => {
  test.each<readonly [string, string, number, number]>([
    ["1 ? 2", "expected COLON, got EOF", 1, 6],
    ["((1)", "expected RPAREN, got EOF", 1, 5],
    ["[1", "expected RBRACKET, got EOF", 1, 3],
    ["{'a'}", "expected COLON, got RBRACE", 1, 5],
    ["1 2", "unexpected character: '2'", 1, 3],
    ["a = 1", "unexpected character: =", 1, 3],
    ["self..a", "expected IDENTIFIER, got DOT", 1, 6],
    ["self.\n in", "expected IDENTIFIER, got IN", 2, 2],
    ["if", "reserved identifier: if", 1, 1],
    ["'\\z'", "invalid escape sequence: \\z", 1, 2],
    ["'a' + 1", "no such overload: string + int", 1, 1],
    ["!1", "no such overload: !int", 1, 1],
    ["[1] < [2]", "no such overload: list<int> < list<int>", 1, 1],
    ["1 && true", "logical operator requires bool operands, got 'int'", 1, 1],
    ["flag ? 1 : 'x'", "ternary branches must have the same type, got 'int' and 'string'", 1, 1],
    ["items['0']", "list index must be int, got 'string'", 1, 1],
    ["size(1)", "found no matching overload for 'size(int)'", 1, 1],
    ["has(self)", "has() invalid argument", 1, 5],
    ["[1].all(1, true)", "all(var, predicate) invalid predicate iteration variable", 1, 9],
    ["items.all(x)", 'there is no variable "x"', 1, 11],
    ["true &&\n  item > 1", 'there is no variable "item"; did you mean "items"?', 2, 3],
    ["self.foo()", 'there is no function "foo"', 1, 1],
    ["'a'.matchs('b')", 'there is no function "matchs"; did you mean "matches"?', 1, 1],
  ])("%j", (source, message, line, column) => {
    const program = compileExpression(source, environment);
    expect(program.ok ? "it compiles" : program.error).toMatchObject({ message, line, column });
  });
});
