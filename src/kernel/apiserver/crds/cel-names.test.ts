import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { escapedNames, renameMembers } from "./cel-rules.ts";

describe("names in a rule", () => {
  test.each<[string, Record<string, string>]>([
    ["self.a == self.b", {}],
    ["self.a__dash__b", { "a-b": "a__dash__b" }],
    ["self.a__dot__b__slash__c", { "a.b/c": "a__dot__b__slash__c" }],
    ["self.a__underscores__b", { a__b: "a__underscores__b" }],
    ["self.__namespace__ && self.__in__", { namespace: "__namespace__", in: "__in__" }],
    ["self.__other__", {}],
    ["self.x__dash", {}],
    ["'a__dash__b'", { "a-b": "a__dash__b" }],
    ["", {}],
  ])("%j stand for %j", (rule, expected) => {
    expect(Object.fromEntries(escapedNames(rule))).toEqual(expected);
  });
});

describe("members", () => {
  const names = new Map([["a-b", "a__dash__b"]]);

  test.each<[JsonValue, JsonValue]>([
    [
      { "a-b": 1, c: { "a-b": 2 } },
      { a__dash__b: 1, c: { a__dash__b: 2 } },
    ],
    [
      [{ "a-b": 1 }, 2, null],
      [{ a__dash__b: 1 }, 2, null],
    ],
    ["a-b", "a-b"],
    [null, null],
  ])("of %j are renamed at any depth: %j", (value, expected) => {
    expect(renameMembers(value, names)).toEqual(expected);
  });

  test("of a value whose rule escapes nothing stay, and so does the value", () => {
    const value = { "a-b": 1 };
    expect(renameMembers(value, new Map())).toBe(value);
  });

  test("keep a name that would set the prototype", () => {
    const value = JSON.parse('{"__proto__":{"a-b":1}}') as JsonValue;
    expect(JSON.stringify(renameMembers(value, names))).toBe('{"__proto__":{"a__dash__b":1}}');
  });
});
