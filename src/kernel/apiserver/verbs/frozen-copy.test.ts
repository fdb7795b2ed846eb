import { describe, expect, test } from "vitest";
import { frozenCopy } from "./frozen-copy.ts";

describe("a copy of a caller's value", () => {
  test("leaves members out that are undefined, as JSON does", () => {
    const copy = frozenCopy({ a: 1, b: undefined, c: { d: undefined } });
    expect(Object.keys(copy as object)).toEqual(["a", "c"]);
    expect(JSON.stringify(copy)).toBe('{"a":1,"c":{}}');
  });

  test("is the stored object although the caller names members that are undefined", () => {
    const old = Object.freeze({ a: 1 });
    expect(frozenCopy({ a: 1, b: undefined }, old)).toBe(old);
  });

  test("shares what is frozen already, and prefers what is stored when both say the same", () => {
    const spec = Object.freeze({ size: 1 });
    expect(frozenCopy({ spec })).toEqual({ spec });
    expect((frozenCopy({ spec }) as { spec: object }).spec).toBe(spec);
    const old = Object.freeze({ spec: Object.freeze({ size: 1 }), status: "a" });
    expect((frozenCopy({ spec, status: "b" }, old) as { spec: object }).spec).toBe(old.spec);
  });

  test("keeps the order of the members it was given", () => {
    const old = Object.freeze({ b: 1, a: 1 });
    expect(Object.keys(frozenCopy({ a: 2, b: 1 }, old) as object)).toEqual(["a", "b"]);
  });

  test("does not take what every object inherits for a stored member", () => {
    const old = Object.freeze({});
    const copy = frozenCopy(JSON.parse('{"__proto__": {}, "constructor": {}}'), old);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{},"constructor":{}}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(Object.isFrozen(Object.prototype)).toBe(false);
  });

  test.each([
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
    ["a bigint", 1n],
    ["undefined itself", undefined],
  ])("throws for %s, wherever it stands", (_, value) => {
    expect(() => frozenCopy(value)).toThrow(TypeError);
    if (value !== undefined) {
      expect(() => frozenCopy({ a: [value] })).toThrow(TypeError);
      expect(() => frozenCopy({ a: value }, { a: 1 })).toThrow(TypeError);
    }
  });
});
