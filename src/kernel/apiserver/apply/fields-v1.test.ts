import { describe, expect, test } from "vitest";
import { deepFreeze, type JsonValue } from "#lib/base/index.ts";
import { decodeFields } from "./managers.ts";
import { isMember } from "./field-set.ts";
import { printed } from "./testing/world.ts";

describe("sets in canonical form", () => {
  test.each<[string, JsonValue]>([
    ["nothing", {}],
    ["a member", { "f:a": {} }],
    ["members inside", { "f:spec": { "f:a": {}, "f:b": {} } }],
    ["a member with members inside", { "f:a": { ".": {}, "f:b": {} } }],
    ["keys, values and places", { "f:l": { 'k:{"n":1}': { ".": {}, "f:n": {} }, 'v:"x"': {}, "i:0": {} } }],
    ["a member called like the prototype", { "f:__proto__": {}, "f:constructor": {} }],
  ])("%s: the very object is the set", (_name, value) => {
    expect(decodeFields(value)).toBe(value);
  });
});

describe("sets in other forms are brought into the canonical one", () => {
  test.each<[string, JsonValue, JsonValue]>([
    ["order", { "f:b": {}, "f:a": {} }, { "f:a": {}, "f:b": {} }],
    ["keys", { 'k:{"b":1, "a":2}': {} }, { 'k:{"a":2,"b":1}': {} }],
    ["a membership that is written last", { "f:a": { "f:b": {}, ".": {} } }, { "f:a": { ".": {}, "f:b": {} } }],
    ["a membership with content", { "f:a": { ".": { "f:x": {} }, "f:b": {} } }, { "f:a": { ".": {}, "f:b": {} } }],
    ["a membership that says nothing", { "f:a": { ".": {} } }, { "f:a": {} }],
    ["a membership of the root", { ".": {}, "f:a": {} }, { "f:a": {} }],
    ["two spellings of one element", { "v:1": {}, "v:1.0": { "f:a": {} } }, { "v:1": { ".": {}, "f:a": {} } }],
    ["elements of kinds to come", { "x:new": { "f:a": {} }, "f:a": {} }, { "f:a": {} }],
  ])("%s", (_name, value, canonical) => {
    expect(JSON.stringify(decodeFields(value))).toBe(JSON.stringify(canonical));
  });
});

test.each<[string, JsonValue]>([
  ["a text", "x"],
  ["a list", []],
  ["null", null],
  ["a node that is a text", { "f:a": "x" }],
  ["a node that is null", { "f:a": null }],
  ["a node that is a list", { "f:a": [] }],
  ["a name without a kind", { a: {} }],
  ["a broken key", { "k:{": {} }],
  ["a key without fields", { "k:{}": {} }],
  ["a place that is no number", { "f:a": { "i:x": {} } }],
])("%s is no set", (_name, value) => {
  expect(decodeFields(value)).toBeUndefined();
});

test("a frozen set is read once: the second answer is the first", () => {
  const value = deepFreeze(JSON.parse('{"f:b":{},"f:a":{}}') as JsonValue);
  expect(decodeFields(value)).toBe(decodeFields(value));
});

test("a set as deep as a document may be is read", () => {
  let value: JsonValue = {};
  for (let depth = 0; depth < 1000; depth++) value = { "f:a": value };
  const set = decodeFields(value);
  expect(set).toBeDefined();
  expect(printed(set ?? {})).toEqual([".a".repeat(1000)]);
});

test("a set with many elements is read", () => {
  const value = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`v:${at}`, {}]));
  expect(Object.keys(decodeFields(value) ?? {})).toHaveLength(20_000);
});

test("an empty node is a member, a node with something inside only when it says so", () => {
  expect([{}, { ".": {}, "f:a": {} }, { "f:a": {} }].map(isMember)).toEqual([true, true, false]);
});
