import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import {
  applyMergePatch,
  canonicalJson,
  createMergePatch,
  formatPointer,
  getPointer,
  parseArrayIndex,
  parsePointer,
} from "./index.ts";

// The table of RFC 7386, appendix A.
test.each<readonly [JsonValue, JsonValue, JsonValue]>([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("RFC 7386: %j merged with %j is %j", (target, patch, result) => {
  expect(applyMergePatch(target, patch)).toEqual(result);
});

test("a merge patch changes neither argument and shares what it does not touch", () => {
  const target = { a: { b: 1 }, c: { d: 2 } };
  const merged = applyMergePatch(target, { a: { b: null } });
  expect(merged).toEqual({ a: {}, c: { d: 2 } });
  expect(target).toEqual({ a: { b: 1 }, c: { d: 2 } });
  expect((merged as typeof target).c).toBe(target.c);
});

test("a merge patch stores __proto__ as an ordinary key", () => {
  const patch: JsonValue = JSON.parse('{"__proto__": {"polluted": true}}');
  expect(JSON.stringify(applyMergePatch({}, patch))).toBe('{"__proto__":{"polluted":true}}');
  expect("polluted" in {}).toBe(false);
});

test.each<readonly [JsonObject, JsonObject, JsonObject | undefined]>([
  [{ a: 1 }, { a: 1 }, undefined],
  [{ a: 1, b: 2 }, { b: 3 }, { a: null, b: 3 }],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1 } }, { a: { c: null } }],
  [{ a: [1, 2] }, { a: [2] }, { a: [2] }],
  [{}, { a: { b: {} } }, { a: { b: {} } }],
  [{ a: 1 }, { a: null }, { a: null }],
  [{}, { a: null }, undefined],
  [{ a: { b: 1 } }, { a: 1 }, { a: 1 }],
])("the patch from %j to %j is %j", (before, after, patch) => {
  expect(createMergePatch(before, after)).toEqual(patch);
});

// The table of RFC 6901, section 5.
const document: JsonValue = {
  foo: ["bar", "baz"],
  "": 0,
  "a/b": 1,
  "c%d": 2,
  "e^f": 3,
  "g|h": 4,
  "i\\j": 5,
  'k"l': 6,
  " ": 7,
  "m~n": 8,
};

test.each<readonly [string, JsonValue]>([
  ["", document],
  ["/foo", ["bar", "baz"]],
  ["/foo/0", "bar"],
  ["/", 0],
  ["/a~1b", 1],
  ["/c%d", 2],
  ["/e^f", 3],
  ["/g|h", 4],
  ["/i\\j", 5],
  ['/k"l', 6],
  ["/ ", 7],
  ["/m~0n", 8],
])("RFC 6901: the pointer %j", (text, value) => {
  const tokens = parsePointer(text);
  if (!tokens.ok) throw new Error(tokens.error);
  expect(getPointer(document, tokens.value)).toEqual(value);
  expect(formatPointer(tokens.value)).toBe(text);
});

test.each(["/foo/2", "/foo/-", "/foo/00", "/foo/length", "/none", "/none/x", "//x", "/toString"])(
  "the pointer %s selects nothing",
  (text) => {
    const tokens = parsePointer(text);
    expect(tokens.ok && getPointer(document, tokens.value)).toBeUndefined();
  },
);

test.each(["foo", "#/foo", "/~", "/a~2"])("%j is no pointer", (text) => {
  expect(parsePointer(text).ok).toBe(false);
});

test.each(["", "-", "01", "+1", "1.0", "1e1", "9999999999999999999"])("%j is no array index", (token) => {
  expect(parseArrayIndex(token)).toBeUndefined();
});

test("the canonical form sorts keys and drops absent members", () => {
  expect(canonicalJson({ b: [1, { z: null, y: "é\n" }], a: undefined, A: true })).toBe(
    '{"A":true,"b":[1,{"y":"é\\n","z":null}]}',
  );
});
