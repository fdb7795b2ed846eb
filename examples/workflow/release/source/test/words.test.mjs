import assert from "node:assert/strict";
import { test } from "node:test";
import { toWords } from "../src/words.mjs";

test("numbers read as people say them", () => {
  assert.equal(toWords(0), "zero");
  assert.equal(toWords(42), "forty-two");
  assert.equal(toWords(219), "two hundred and nineteen");
});

test("numbers out of range are refused", () => {
  for (const number of [-1, 1000, 2.5]) assert.throws(() => toWords(number), RangeError);
});
