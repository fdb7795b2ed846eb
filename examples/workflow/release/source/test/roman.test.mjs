import assert from "node:assert/strict";
import { test } from "node:test";
import { toRoman } from "../src/roman.mjs";

test("years read as they do on buildings", () => {
  assert.equal(toRoman(1994), "MCMXCIV");
  assert.equal(toRoman(2026), "MMXXVI");
});

test("numbers without a numeral are refused", () => {
  for (const number of [0, 4000, 1.5]) assert.throws(() => toRoman(number), RangeError);
});
