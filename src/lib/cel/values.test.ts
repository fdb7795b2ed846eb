import { Optional } from "@marcbachmann/cel-js";
import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { expect, test } from "vitest";
import { deepFreeze, type JsonValue } from "#lib/base/index.ts";
import { formatDuration, formatTimestamp, fromCel, toCel } from "./values.ts";

test.each<readonly [JsonValue, unknown]>([
  [1, 1n],
  [-0, 0n],
  [1.5, 1.5],
  [1e300, 1e300],
  ["1", "1"],
  [null, null],
  [true, true],
  [
    [1, "a"],
    [1n, "a"],
  ],
  [{ a: { b: 2 } }, { a: { b: 2n } }],
  [{ a: undefined, b: "x" }, { b: "x" }],
  [{ constructor: "x" }, new Map([["constructor", "x"]])],
])("%j becomes a CEL value", (json, value) => {
  expect(toCel(json)).toEqual(value);
});

test("values without integers are used as they are", () => {
  const value = { a: ["x", 1.5, null], b: {} };
  expect(toCel(value)).toBe(value);
});

test("a frozen value is converted once, another one every time", () => {
  const frozen = deepFreeze({ n: 1 });
  expect(toCel(frozen)).toBe(toCel(frozen));
  const open = { n: 1 };
  const first = toCel(open);
  open.n = 2;
  expect(first).toEqual({ n: 1n });
  expect(toCel(open)).toEqual({ n: 2n });
});

test.each<readonly [string, unknown, JsonValue]>([
  ["an int", 5n, 5],
  ["an unsigned int", new UnsignedInt(7), 7],
  ["an empty optional", Optional.none(), null],
  ["an optional", Optional.of([1n]), [1]],
  ["a set", new Set(["a", "b"]), ["a", "b"]],
  [
    "a map",
    new Map<unknown, unknown>(Object.entries({ a: 1n })).set(2n, "x").set(true, null),
    { a: 1, "2": "x", true: null },
  ],
  ["bytes", new Uint8Array([1, 2, 255]), "AQL/"],
  ["a timestamp", new Date("2024-01-01T00:00:00Z"), "2024-01-01T00:00:00Z"],
  ["a duration", new Duration(90), "90s"],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1n }), { a: 1 }],
])("%s becomes JSON", (_, value, json) => {
  expect(fromCel(value)).toEqual(json);
});

test.each<readonly [unknown, string]>([
  [2n ** 53n, "the integer 9007199254740992 is beyond 2^53-1 and would lose digits; use string(…)"],
  [Number.NaN, "the result NaN has no JSON form"],
  [undefined, "the result has no JSON form"],
  [() => 1, "the result has no JSON form"],
])("%s has no JSON form", (value, message) => {
  expect(() => fromCel(value)).toThrow(message);
});

test.each([
  ["2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00Z"],
  ["2024-01-01T00:00:10.000Z", "2024-01-01T00:00:10Z"],
  ["2024-01-01T00:00:00.120Z", "2024-01-01T00:00:00.12Z"],
])("the instant %s is written %s", (at, text) => {
  expect(formatTimestamp(new Date(at))).toBe(text);
});

test.each([
  [0, 0, "0s"],
  [1, 500_000_000, "1.5s"],
  [0, -500_000_000, "-0.5s"],
  [-1, -1, "-1.000000001s"],
  [3600, 0, "3600s"],
])("%d seconds and %d nanoseconds are written %s", (seconds, nanos, text) => {
  expect(formatDuration(new Duration(seconds, nanos))).toBe(text);
});
