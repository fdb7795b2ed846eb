import { expect, test } from "vitest";
import { keyText, resolvePlain } from "./scalar.ts";

test.each(["", "~", "null", "Null", "NULL"])("%j is null", (text) => {
  expect(resolvePlain(text)).toEqual({ ok: true, value: null });
});

test.each([
  "nULL",
  "None",
  "tRUE",
  "oFF",
  "yy",
  "1.2.3",
  "1:30",
  "2001-01-01",
  "0x",
  "0xg",
  "1e",
  "e3",
  "+",
  "-",
  ".",
  "..",
  "1..2",
  "_1",
  "1Gi",
  "<<",
])("%j is a text", (text) => {
  expect(resolvePlain(text)).toEqual({ ok: true, value: text });
});

test.each([
  ["0", 0],
  ["0.0", 0],
  ["00", 0],
  ["010", 8],
  ["-010", -8],
  ["0_7", 7],
  ["0xff", 255],
  ["-0xFF", -255],
  ["0b101", 5],
  ["0o17", 15],
  ["09", 9],
  ["1_000.5", 1000.5],
  ["1e-3", 0.001],
  [".5", 0.5],
  ["5.", 5],
  ["9007199254740991", 9007199254740991],
])("%s is %d", (text, value) => {
  expect(resolvePlain(text)).toEqual({ ok: true, value });
});

test.each([
  ".inf",
  "-.INF",
  "+.Inf",
  ".nan",
  ".NaN",
  "1e999",
  "1e-400",
  "-0.001e-999",
  "-0",
  "-0.0",
  "-0x0",
  "-0e-999",
  "9007199254740992",
  "0xffffffffffffffff",
  "9".repeat(100),
])("%s cannot be kept", (text) => {
  const resolved = resolvePlain(text);
  expect(resolved.ok).toBe(false);
  expect(!resolved.ok && resolved.error.length < 150).toBe(true);
});

test("keys are written as texts", () => {
  expect([true, false, 8, 1.5, -1, "x"].map(keyText)).toEqual(["true", "false", "8", "1.5", "-1", "x"]);
});
