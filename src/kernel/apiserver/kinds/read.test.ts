import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import {
  copyOf,
  listAt,
  mapItems,
  mapMember,
  objectAt,
  objectsAt,
  scalarText,
  textAt,
  valueAt,
  withAbsent,
  withMembers,
} from "./read.ts";

const object: JsonObject = { a: { b: [1, { c: "x" }], n: null, e: "" }, t: "text" };

test("what is not there, or of another type, is absent", () => {
  expect(valueAt(object, "a", "b", "length")).toBeUndefined();
  expect(valueAt(object, "a", "n")).toBeUndefined();
  expect(valueAt(object, "constructor")).toBeUndefined();
  expect(valueAt(undefined, "a")).toBeUndefined();
  expect(textAt(object, "a", "e")).toBeUndefined();
  expect(textAt(object, "a")).toBeUndefined();
  expect(objectAt(object, "t")).toBeUndefined();
  expect(listAt(object, "t")).toEqual([]);
  expect(objectsAt(object, "a", "b")).toEqual([{ c: "x" }]);
});

test("members are set and removed in a copy, and nothing is copied for nothing", () => {
  expect(withMembers(object, { t: undefined, u: 1 })).toEqual({ a: object["a"], u: 1 });
  expect(object["t"]).toBe("text");
  expect(withMembers(object, { t: "text", v: undefined })).toBe(object);
});

test("copies keep members named like parts of JavaScript", () => {
  const odd = JSON.parse('{"__proto__":{"x":1},"a":1}') as JsonObject;
  for (const copy of [withMembers(odd, { b: 2 }), withMembers(odd, { a: undefined }), withAbsent(odd, { b: 2 })]) {
    expect(JSON.stringify(copy)).toContain('"__proto__":{"x":1}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  }
});

test("only absent members are filled in", () => {
  expect(withAbsent({ a: null, b: 0 }, { a: 1, b: 1, c: 1, d: undefined })).toEqual({ a: 1, b: 0, c: 1 });
  expect(withAbsent(object, { t: "other" })).toBe(object);
});

test("changes that change nothing leave the object as it is", () => {
  expect(mapMember(object, "a", (a) => a)).toBe(object);
  expect(mapMember(object, "t", () => ({}))).toBe(object);
  expect(mapItems(object, "list", () => ({}))).toBe(object);
  expect(mapItems({ l: [{ a: 1 }, 2] }, "l", (item) => ({ ...item, b: 1 }))).toEqual({ l: [{ a: 1, b: 1 }, 2] });
});

test("only scalars have a text", () => {
  expect([
    scalarText(1),
    scalarText(false),
    scalarText("x"),
    scalarText(null),
    scalarText({}),
    scalarText(undefined),
  ]).toEqual(["1", "false", "x", "", "", ""]);
});

test("a copy has the members of its model, whatever they are called, and may be changed", () => {
  const model = Object.freeze(JSON.parse('{"b":1,"a":{"c":2},"__proto__":{"d":3}}') as JsonObject);
  const copy = copyOf(model);
  expect(JSON.stringify(copy)).toBe(JSON.stringify(model));
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  copy["b"] = 2;
  expect(model["b"]).toBe(1);
  expect(copyOf(Object.freeze({ b: model })).b).toBe(model);
});
