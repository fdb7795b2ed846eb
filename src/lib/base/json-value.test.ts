import { expect, test } from "vitest";
import { deepFreeze, isJsonObject, jsonEquals, type JsonValue } from "./index.ts";

test.each<readonly [unknown, boolean]>([
  [{}, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  [undefined, false],
  ["{}", false],
  [() => 1, false],
])("%j is a JSON object: %s", (value, expected) => {
  expect(isJsonObject(value)).toBe(expected);
});

const fromText = (text: string): JsonValue => JSON.parse(text);

test.each<readonly [string, unknown, unknown]>([
  ["the same scalars", 1, 1],
  ["both zeros", 0, -0],
  ["empty objects", {}, {}],
  ["empty lists", [], []],
  ["members in another order", { a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }],
  ["an absent and an undefined member", { a: 1, b: undefined }, { a: 1 }],
  ["different undefined members", { a: undefined }, { b: undefined }],
  ["an undefined member in front", { x: undefined, a: 1 }, { a: 1 }],
  ["members named __proto__", fromText('{"__proto__": {"a": 1}}'), fromText('{"__proto__": {"a": 1}}')],
  ["objects with and without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
])("equal: %s", (_, a, b) => {
  expect(jsonEquals(a, b)).toBe(true);
  expect(jsonEquals(b, a)).toBe(true);
});

test.each<readonly [string, unknown, unknown]>([
  ["numbers and their texts", 1, "1"],
  ["null and nothing", { a: null }, {}],
  ["null and an object", null, {}],
  ["null and undefined", null, undefined],
  ["false and 0", false, 0],
  ["an object and a list", {}, []],
  ["a list and an object with the same indexes", ["a"], { 0: "a", length: 1 }],
  ["lists in another order", [1, 2], [2, 1]],
  ["lists of different lengths", [1], [1, undefined]],
  ["one more member", { a: 1 }, { a: 1, b: 2 }],
  ["as many members, with other names", { a: 1, b: 2 }, { a: 1, c: 2 }],
  ["an undefined member and one of another name", { a: 1, b: undefined }, { a: 1, c: 2 }],
  ["a difference deep inside", { a: [{ b: { c: 1 } }] }, { a: [{ b: { c: 2 } }] }],
  ["a member that the other one inherits", { toString: 1 }, {}],
  ["__proto__ and nothing", fromText('{"__proto__": {}}'), {}],
])("different: %s", (_, a, b) => {
  expect(jsonEquals(a, b)).toBe(false);
  expect(jsonEquals(b, a)).toBe(false);
});

test("freezing reaches everything inside and returns the same value", () => {
  const value = { a: [{ b: { c: 1 } }, []], d: null };
  expect(deepFreeze(value)).toBe(value);
  expect([value, value.a, value.a[0], value.a[1]].every(Object.isFrozen)).toBe(true);
  expect(() => {
    value.a.push({ b: { c: 2 } });
  }).toThrow(TypeError);
});

test("a frozen branch is not visited again", () => {
  const visited = { n: 1 };
  const frozen = Object.freeze({ visited });
  deepFreeze({ frozen });
  expect(Object.isFrozen(visited)).toBe(false);
});

test.each([1, "x", true, null, undefined])("%s is frozen as it is", (value) => {
  expect(deepFreeze(value)).toBe(value);
});
