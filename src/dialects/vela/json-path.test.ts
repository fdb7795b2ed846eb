import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { jsonAt, type JsonSteps, readJsonSteps, withJsonAt } from "./json-path.ts";

const steps = (path: string): JsonSteps => {
  const read = readJsonSteps(path);
  if (!read.ok) throw new Error(read.error);
  return read.value;
};

test.each([
  ["a.b[0].c", ["a", "b", 0, "c"]],
  ['a["x-y"].z', ["a", "x-y", "z"]],
  ["app.oam-x/y", ["app", "oam-x/y"]],
  ['a["q\\"r"]', ["a", 'q"r']],
])("the path %s", (path, expected) => {
  expect(steps(path)).toEqual(expected);
});

test.each(["", "a[", "a[x]", "a..", "a[99999999]"])("the invalid path %j is refused with its place", (path) => {
  const read = readJsonSteps(path);
  expect(read.ok ? undefined : read.error).toMatch(/^invalid path/);
});

test("17.12 a value is set at a path: objects are created, lists are padded with empty objects", () => {
  const set = (value: JsonValue, path: string, leaf: JsonValue) => withJsonAt(value, steps(path), leaf);
  expect(set({}, "a.b", 1)).toEqual({ a: { b: 1 } });
  expect(set({ a: [] }, "a[2].b", 1)).toEqual({ a: [{}, {}, { b: 1 }] });
  expect(set({ a: "text" }, "a.b", 1)).toEqual({ a: { b: 1 } });
  const base = Object.freeze({ a: Object.freeze([1, 2]) });
  expect(set(base, "a[0]", 9)).toEqual({ a: [9, 2] });
  expect(Object.keys(set({}, "__proto__.x", 1) as object)).toEqual(["__proto__"]);
});

test("a value is read at a path, never an inherited one", () => {
  expect(jsonAt({ a: [{ b: 1 }] }, ["a", 0, "b"])).toBe(1);
  expect(jsonAt({ a: {} }, ["a", "constructor"])).toBeUndefined();
  expect(jsonAt({ a: {} }, ["a", 0])).toBeUndefined();
});
