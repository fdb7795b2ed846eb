import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { getAt, parsePath, setAt } from "./json-path.ts";

test.each([
  ["a.b[0].c", ["a", "b", 0, "c"]],
  ['a["x-y"].z', ["a", "x-y", "z"]],
  ["app.oam-x/y", ["app", "oam-x/y"]],
  ['a["q\\"r"]', ["a", 'q"r']],
])("the path %s", (path, expected) => {
  expect(parsePath(path)).toEqual(expected);
});

test.each(["", "a[", "a[x]", "a..", "a[99999999]"])("the invalid path %j is no path", (path) => {
  expect(parsePath(path)).toBeUndefined();
});

test("17.12 a value is set at a path: objects are created, lists are padded with empty objects", () => {
  const set = (value: JsonValue, path: string, leaf: JsonValue) => setAt(value, parsePath(path) ?? [], leaf);
  expect(set({}, "a.b", 1)).toEqual({ a: { b: 1 } });
  expect(set({ a: [] }, "a[2].b", 1)).toEqual({ a: [{}, {}, { b: 1 }] });
  expect(set({ a: "text" }, "a.b", 1)).toEqual({ a: { b: 1 } });
  const base = Object.freeze({ a: Object.freeze([1, 2]) });
  expect(set(base, "a[0]", 9)).toEqual({ a: [9, 2] });
  expect(Object.keys(set({}, "__proto__.x", 1) as object)).toEqual(["__proto__"]);
});

test("a value is read at a path, never an inherited one", () => {
  expect(getAt({ a: [{ b: 1 }] }, ["a", 0, "b"])).toBe(1);
  expect(getAt({ a: {} }, ["a", "constructor"])).toBeUndefined();
  expect(getAt({ a: {} }, ["a", 0])).toBeUndefined();
});
