import { expect, test } from "vitest";
import { deepFreeze, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type CelEnvironment, type CelProgram, compileExpression, isMissingValue, workflowFunctions } from "./index.ts";

const environment: CelEnvironment = {
  variables: {
    self: "dyn",
    oldSelf: "dyn",
    params: "map<string, dyn>",
    steps: "map<string, dyn>",
    name: "string",
    ratio: "double",
    count: "int",
  },
  functions: [
    ...workflowFunctions((text) => `h${text.length}`),
    { signature: "success(): bool", call: (_, bindings) => bindings["outcome"] === "good" },
    { signature: "string.shout(): string", call: ([text]) => `${typeof text === "string" ? text : ""}!` },
    {
      signature: "fail(): dyn",
      call: () => {
        throw new Error("it failed");
      },
    },
  ],
};

function compile(source: string): CelProgram {
  const program = compileExpression(source, environment);
  if (!program.ok) throw new Error(`${program.error.message} at ${program.error.line}:${program.error.column}`);
  return program.value;
}
const run = (source: string, bindings: JsonObject = {}): JsonValue => {
  const result = compile(source).evaluate(bindings);
  if (!result.ok) throw new Error(result.error);
  return result.value;
};
const failure = (source: string, bindings: JsonObject = {}): string => {
  const result = compile(source).evaluate(bindings);
  return result.ok ? `no failure: ${JSON.stringify(result.value)}` : result.error;
};

test.each<readonly [string, JsonValue]>([
  ["1 + 2 * 3", 7],
  ["7 / 2", 3],
  ["7.0 / 2", 3.5],
  ["2 * 1.5", 3],
  ["-7 % 3", -1],
  ["1 < 1.5 && 2.0 >= 2", true],
  ["dyn(1) == 1.0", true],
  ["'a' + 'b'", "ab"],
  ["'a' in ['a', 'b']", true],
  ["'a' in {'a': 1}", true],
  ["has(self.a)", true],
  ["has(self.b.c)", false],
  ["has(self.maps[0].x) && !has(self.maps[0].y) && has(self.maps[0].x.y) == false", true],
  ["self.maps.all(m, has(m.x) && !has(self.maps[0]['x'].z))", true],
  ["has({'constructor': 1}.constructor) && has(params['m'].n)", true],
  ["self.list.map(x, x * 2)", [2, 4, 6]],
  ["self.list.filter(x, x > 1)", [2, 3]],
  ["self.list.map(x, x > 1, x * 10)", [20, 30]],
  ["self.list.all(x, x > 0) && self.list.exists(x, x == 3) && self.list.exists_one(x, x == 1)", true],
  ["self.b.all(key, key.startsWith('k'))", true],
  ["cel.bind(x, self.list.sum(), x + x)", 12],
  ["self.?missing.orValue('none')", "none"],
  ["self.?a.orValue(0)", 1],
  ["self.?missing", null],
  ["type(1) == int", true],
  ["type('a')", "string"],
  ["size('a😀')", 2],
  ["self.list.size() + size(self.b)", 4],
  ["{'a': 1, 'b': [1.5, null, true]}", { a: 1, b: [1.5, null, true] }],
  ["{1: 'one'}[1]", "one"],
  ["{1: 'one', 2: 'two'}", { "1": "one", "2": "two" }],
  ["{1: 'one'}.map(k, k + 1)", [2]],
  ["b'abc'", "YWJj"],
  ["5u", 5],
  ["timestamp('2024-02-29T12:30:00Z') + duration('1h30m')", "2024-02-29T14:00:00Z"],
  ["timestamp('2024-01-01T00:00:00.250Z')", "2024-01-01T00:00:00.25Z"],
  ["duration('1h30m')", "5400s"],
  ["duration('-1500ms')", "-1.5s"],
  ["duration('500ms') < duration('1s')", true],
  ["params['x-y'] + '!'", "dash!"],
])("%s is %j", (source, value) => {
  const self = { a: 1, list: [1, 2, 3], b: { k: "v" }, maps: [{ x: { q: 1 } }] };
  expect(run(source, { self, params: { "x-y": "dash", m: { n: 1 } } })).toEqual(value);
});

test("integers of JSON are ints, other numbers doubles, and a declared double is one", () => {
  expect(run("type(self) == int", { self: 2 })).toBe(true);
  expect(run("type(self) == double", { self: 2.5 })).toBe(true);
  expect(run("ratio / 2.0", { ratio: 3 })).toBe(1.5);
  expect(run("self * 0.5", { self: 3 })).toBe(1.5);
  expect(run("count / 2", { count: 3 })).toBe(1);
});

test("values come back as they went in", () => {
  const self = { a: [1, 2.5, "x", null, true, { b: [] }], "c-d": {} };
  expect(run("self", { self })).toEqual(self);
  expect(run("self", { self: deepFreeze(self) })).toEqual(self);
  expect(run("[self, self]", { self: deepFreeze({ n: 7 }) })).toEqual([{ n: 7 }, { n: 7 }]);
});

test("absent members are absent", () => {
  expect(run("size(self) == 1 && !has(self.a)", { self: { a: undefined, b: 1 } })).toBe(true);
});

test("keys that name inherited members are ordinary keys", () => {
  const self: JsonValue = JSON.parse('{"__proto__": 1, "constructor": 2}');
  expect(run("self['__proto__'] + self.constructor", { self })).toBe(3);
  expect(run("has(self.toString)", { self })).toBe(false);
  expect(JSON.stringify(run("{'__proto__': 1, 'constructor': 2, 'prototype': 3}"))).toBe(
    '{"__proto__":1,"constructor":2,"prototype":3}',
  );
  expect(failure("self.toString", { self })).toBe("no such key: toString");
});

test.each([
  ["1 / 0", "division by zero"],
  ["self.missing", "no such key: missing"],
  ["self.list[5]", "no such key: index out of bounds, index 5 >= size 1"],
  ["steps.a", 'the variable "steps" has no value here'],
  ["name", "variable 'name' is not of type 'string', got 'int'"],
  ["self.list + 'a'", "no such overload: list<int> + string"],
  ["9223372036854775807 + 1", "integer overflow: 9223372036854775808"],
  ["9007199254740993", "the integer 9007199254740993 is beyond 2^53-1 and would lose digits; use string(…)"],
  ["1.0 / 0.0", "the result Infinity has no JSON form"],
  ["{'a': 1, 'a': 2}", "a map literal repeats a key"],
  ["fail()", "it failed"],
  ["has(self.list[0].x)", "has() needs a map"],
  ["has(self.list[7].x)", "no such key: index out of bounds, index 7 >= size 1"],
  ["int('')", 'int(): cannot convert ""'],
  ["int('0x1f')", 'int(): cannot convert "0x1f"'],
])("%s fails with a message", (source, message) => {
  expect(failure(source, { self: { list: [1] }, name: 1 })).toBe(message);
});

test.each([
  ["self.missing", true],
  ["self.list[5]", true],
  ["steps.a", true],
  ["1 / 0", false],
  ["self.list + 'a'", false],
  ["fail()", false],
])("%s fails for want of a value: %s", (source, expected) => {
  expect(isMissingValue(failure(source, { self: { list: [1] } }))).toBe(expected);
});

test.each([
  ["1 +", "unexpected token: EOF", 1, 4],
  ["params.", "expected IDENTIFIER, got EOF", 1, 8],
  ["parms.x", 'there is no variable "parms"; did you mean "params"?', 1, 1],
  ["true &&\n  xyz", 'there is no variable "xyz"', 2, 3],
  ["1 + 'a'", "no such overload: int + string", 1, 1],
  ["1 == 1.0", "no such overload: int == double", 1, 1],
  ["name.foo()", `there is no function "foo"`, 1, 1],
  ["name.matches(1)", "found no matching overload for 'string.matches(int)'", 1, 1],
  ["succes()", `there is no function "succes"; did you mean "success"?`, 1, 1],
  ["'abc", "unterminated string", 1, 1],
  ["a ? b", undefined, 1, undefined],
  ["", "unexpected token: EOF", 1, 1],
])("%j does not compile", (source, message, line, column) => {
  const program = compileExpression(source, environment);
  if (program.ok) throw new Error("it compiles");
  expect(program.error.line).toBe(line);
  if (message !== undefined) expect(program.error.message).toBe(message);
  if (column !== undefined) expect(program.error.column).toBe(column);
});

test.each([
  ["1 +", "syntax"],
  ["xyz", "unknown-variable"],
  ["xyz()", "unknown-function"],
  ["name.xyz()", "unknown-function"],
  ["name.substring('a')", "type"],
  ["1 + 'a'", "type"],
])("%s is a problem of the kind %s", (source, kind) => {
  expect(compileExpression(source, environment)).toMatchObject({ ok: false, error: { kind } });
});

test("references name the variables used and the constant members behind them", () => {
  const { references } = compile(
    'steps.build.outputs["x"] + params.a[self.i].b > 1 && steps.test.items.all(s, s.ok && name == s.name) && success()',
  );
  expect(references.variables.map(({ root, path, column }) => [root, ...path, column])).toEqual([
    ["steps", "build", "outputs", "x", 1],
    ["params", "a", 28],
    ["self", "i", 37],
    ["steps", "test", "items", 54],
    ["name", 86],
  ]);
  expect(references.functions).toEqual(["all", "success"]);
});

test("the variable of a macro hides one of the environment inside of it only", () => {
  const { references } = compile(
    "self.list.exists(name, name == 'a') && cel.bind(count, count + 1, count > 1) && name != ''",
  );
  expect(references.variables.map(({ root }) => root)).toEqual(["self", "count", "name"]);
  expect(references.variables.map(({ column }) => column)).toEqual([1, 56, 81]);
});

test("a variable may have the name of a namespace, and hides it", () => {
  const named = compileExpression("ip.address", { variables: { ip: "dyn" } });
  expect(named.ok && named.value.references.variables.map(({ root }) => root)).toEqual(["ip"]);
  expect(named.ok && named.value.evaluate({ ip: { address: "::1" } })).toEqual({ ok: true, value: "::1" });
  expect(run("ip.isCanonical('::1') ? optional.of(1).orValue(2) : 3")).toBe(1);
});

test("functions of the caller see arguments as JSON, and the bindings", () => {
  expect(run("'a'.shout()")).toBe("a!");
  expect(run("success()", { outcome: "good" })).toBe(true);
  expect(run("success()", { outcome: "bad" })).toBe(false);
});

test("JSON functions", () => {
  expect(run("toJson({'b': 1, 'a': [2.5, null]})")).toBe('{"a":[2.5,null],"b":1}');
  expect(run("fromJson('{\"a\": [1, 2]}').a[1] + 1")).toBe(3);
  expect(run("hash({'a': 1})")).toBe("h7");
  expect(failure("fromJson('{')")).toBe("fromJson: expected a key in double quotes, found the end of the text (at 1)");
});

test("one environment serves programs that run inside each other", () => {
  const nested: CelEnvironment = {
    variables: { x: "int" },
    functions: [
      {
        signature: "inner(int): int",
        call: ([x]) => {
          const program = compileExpression("x * 2", nested);
          const result = program.ok ? program.value.evaluate({ x }, { costLimit: 50 }) : undefined;
          return result?.ok ? result.value : null;
        },
      },
    ],
  };
  const outer = compileExpression("inner(x) + x + [1, 2, 3].map(i, i * x).sum()", nested);
  expect(outer.ok && outer.value.evaluate({ x: 5 })).toEqual({ ok: true, value: 45 });
});

test("the static type of the result is known where it can be", () => {
  expect(compile("1 == 1").resultType).toBe("bool");
  expect(compile("name + 'a'").resultType).toBe("string");
  expect(compile("self.a").resultType).toBe("dyn");
});
