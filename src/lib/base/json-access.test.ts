import { expect, test } from "vitest";
import { isTrueAt, type JsonObject, listAt, numberAt, objectAt, objectsAt, textAt, textsAt, valueAt } from "./index.ts";

const object: JsonObject = { a: { b: [1, { c: "x" }], n: null, e: "", yes: true, one: 1 }, t: "text" };

test("what is not there, or of another type, is absent", () => {
  expect(valueAt(object, "a", "b", "length")).toBeUndefined();
  expect(valueAt(object, "a", "n")).toBeUndefined();
  expect(valueAt(object, "constructor")).toBeUndefined();
  expect(valueAt(undefined, "a")).toBeUndefined();
  expect(textAt(object, "a", "e")).toBeUndefined();
  expect(textAt(object, "a")).toBeUndefined();
  expect(objectAt(object, "t")).toBeUndefined();
  expect(listAt(object, "t")).toEqual([]);
  expect(textsAt({ a: ["x", 1, ""] }, "a")).toEqual(["x", ""]);
  expect(objectsAt(object, "a", "b")).toEqual([{ c: "x" }]);
  expect([numberAt(object, "a", "one"), numberAt(object, "t")]).toEqual([1, undefined]);
  expect([isTrueAt(object, "a", "yes"), isTrueAt(object, "t"), isTrueAt(object, "none")]).toEqual([true, false, false]);
});
