import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { Param } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { checkParams, paramValues, parseArgument } from "./params.ts";

function problems(params: readonly Param[], args?: JsonObject): readonly string[] {
  const found = collectProblems();
  checkParams({ params, ...(args === undefined ? {} : { arguments: asArguments(args) }) }, found.error);
  return found.problems.map((p) => `${p.path}: ${p.message}${p.hint === undefined ? "" : ` (${p.hint})`}`);
}

const asArguments = (args: JsonObject): Record<string, JsonValue> =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [name, value ?? null]));

const n: Param = { name: "n", type: "integer", minimum: 1, maximum: 9 };

test.each<[string, Param, JsonValue, string]>([
  ["an integer that is a text", n, "7", 'expected an integer, found "7"'],
  ["a fraction for an integer", n, 1.5, "expected an integer, found 1.5"],
  ["a number below the minimum", n, 0, "expected at least 1, found 0"],
  ["a number above the maximum", n, 10, "expected at most 9, found 10"],
  ["a number for a text", { name: "n" }, 1, "expected a string, found 1"],
  [
    "a text that does not match",
    { name: "n", pattern: "^[a-z]+$" },
    "A",
    'expected a text that matches ^[a-z]+$, found "A"',
  ],
  ["a value outside the enumeration", { name: "n", enum: ["a", "b"] }, "c", 'expected one of "a", "b", found "c"'],
  ["null for a boolean", { name: "n", type: "boolean" }, null, "expected a boolean, found null"],
  ["a list for an object", { name: "n", type: "object" }, [], "expected an object, found []"],
])("%s is refused", (_what, param, value, message) => {
  expect(problems([param], { n: value })).toEqual([`spec.arguments.n: ${message}`]);
});

test("the items of an array are checked one by one", () => {
  const list: Param = { name: "n", type: "array", items: { type: "integer", minimum: 0 } };
  expect(problems([list], { n: [1, "x", -1] })).toEqual([
    'spec.arguments.n: item 1: expected an integer, found "x"',
    "spec.arguments.n: item 2: expected at least 0, found -1",
  ]);
});

test("missing, unknown and doubled names are all reported at once", () => {
  expect(problems([{ name: "one", required: true }, { name: "two" }, { name: "two" }], { tow: "x" })).toEqual([
    'spec.params[2].name: the parameter "two" is declared twice',
    'spec.arguments.one: the parameter "one" is required',
    'spec.arguments.tow: no parameter "tow" is declared (did you mean "two"?)',
  ]);
});

test("a default that does not fit and a pattern that is none are reported where they stand", () => {
  expect(problems([{ name: "n", type: "integer", default: "x" }])).toEqual([
    'spec.params[0].default: expected an integer, found "x"',
  ]);
  expect(problems([{ name: "n", pattern: "(" }])[0]).toMatch(/^spec\.params\[0\]\.pattern: invalid regular expression/);
});

test("a required parameter with a default needs no argument", () => {
  expect(problems([{ name: "n", required: true, default: "x" }])).toEqual([]);
});

test("arguments win over defaults, and what has neither is absent", () => {
  const spec = {
    params: [{ name: "a", default: "x" }, { name: "b", default: "y" }, { name: "c" }],
    arguments: { b: "z" },
  };
  expect(paramValues(spec)).toEqual({ a: "x", b: "z" });
});

test("a parameter named like an inherited member takes no value from there", () => {
  expect(paramValues({ params: [{ name: "constructor" }], arguments: {} })).toEqual({});
});

test.each<[Param["type"], string, JsonValue]>([
  ["string", "7", "7"],
  ["integer", "7", 7],
  ["number", "1.5", 1.5],
  ["boolean", "true", true],
  ["array", '["a"]', ["a"]],
  ["object", '{"a":1}', { a: 1 }],
])("the text of an argument of type %s is read by that type", (type, text, value) => {
  expect(parseArgument({ name: "n", ...(type === undefined ? {} : { type }) }, text)).toEqual({ ok: true, value });
});

test.each(["x", "1.5", "", '"1"'])("%j is no integer", (text) => {
  expect(parseArgument(n, text)).toMatchObject({ ok: false });
});
