import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type JsonObject,
  type JsonValue,
  isTrueAt,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { copyOf, mapItems, mapMember, scalarText, withAbsent, withUnset, withMembers } from "./read.ts";

const object: JsonObject = { a: { b: [1, { c: "x" }], n: null, e: "" }, t: "text" };

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
  expect(withUnset({ a: null, b: 0, c: "", d: false }, { a: 1, b: 1, c: "c", d: true, e: 1 })).toEqual({
    a: 1,
    b: 1,
    c: "c",
    d: false,
    e: 1,
  });
  expect(withUnset({ a: 0, b: "" }, { a: "a", b: 1 })).toEqual({ a: 0, b: "" });
  expect(withUnset(object, { t: "other" })).toBe(object);
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

describe("of one value, each reader takes its own type", () => {
  test.each<[JsonValue | undefined, Record<string, unknown>]>([
    ["x", { text: "x" }],
    ["", {}],
    [0, { number: 0 }],
    [-1.5, { number: -1.5 }],
    ["1", { text: "1" }],
    [true, { isTrue: true }],
    [false, {}],
    ["true", { text: "true" }],
    [{}, { object: {} }],
    [[], {}],
    [[1], { list: [1] }],
    [[{ a: 1 }, null, [], "x"], { list: [{ a: 1 }, null, [], "x"], objects: [{ a: 1 }] }],
    [null, {}],
    [undefined, {}],
  ])("%j", (value, expected) => {
    const holder: JsonObject = { a: { b: value } };
    expect({
      text: textAt(holder, "a", "b"),
      number: numberAt(holder, "a", "b"),
      isTrue: isTrueAt(holder, "a", "b"),
      object: objectAt(holder, "a", "b"),
      list: listAt(holder, "a", "b"),
      objects: objectsAt(holder, "a", "b"),
    }).toEqual({
      text: undefined,
      number: undefined,
      isTrue: false,
      object: undefined,
      list: [],
      objects: [],
      ...expected,
    });
  });
});

test("no path through any JSON throws", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 3 }),
      fc.array(fc.constantFrom("a", "b", "length", "__proto__", "0")),
      (value, path) => {
        const json = JSON.parse(JSON.stringify(value)) as JsonValue;
        const found = valueAt(json, ...path);
        expect(found).not.toBeNull();
        expect(objectAt(json, ...path) ?? found).toBe(found);
      },
    ),
    { numRuns: 200 },
  );
});

const member = fc.dictionary(
  fc.constantFrom("a", "b", "c"),
  fc.oneof(fc.nat(3), fc.constant(null), fc.constantFrom("", "x")),
);

test("presets fill in what is absent or null, and a second time nothing", () => {
  fc.assert(
    fc.property(member, member, (object, presets) => {
      const once = withAbsent(object, presets);
      for (const [name, value] of Object.entries(object)) if (value !== null) expect(once[name]).toBe(value);
      for (const [name, value] of Object.entries(presets))
        expect(valueAt(once, name)).toBe(valueAt(object, name) ?? value ?? undefined);
      expect(withAbsent(once, presets)).toEqual(once);
    }),
    { numRuns: 200 },
  );
});

test("members that are set are set, those that are undefined are gone, the rest is as it was", () => {
  fc.assert(
    fc.property(member, member, fc.constantFrom("a", "b", "c"), (object, changes, gone) => {
      const before = structuredClone(object);
      const changed = withMembers(object, { ...changes, [gone]: undefined });
      const expected = Object.fromEntries(Object.entries({ ...object, ...changes }).filter(([name]) => name !== gone));
      expect(changed).toEqual(expected);
      expect(object).toEqual(before);
    }),
    { numRuns: 200 },
  );
});

test("what is mapped to itself stays the same object", () => {
  const nested: JsonObject = { a: { b: 1 }, list: [{ c: 1 }, "x"] };
  expect(mapMember(nested, "a", (value) => value)).toBe(nested);
  expect(mapMember(nested, "missing", () => ({}))).toBe(nested);
  expect(mapItems(nested, "list", (value) => value)).toBe(nested);
  expect(mapItems(nested, "a", () => ({}))).toBe(nested);
  expect(mapItems(nested, "list", () => ({ d: 1 }))["list"]).toEqual([{ d: 1 }, "x"]);
});
