import { expect, test } from "vitest";
import { defined } from "./defined.ts";

test("undefined members are absent, others are kept in order", () => {
  const found = defined({ b: 1, none: undefined as string | undefined, a: null, empty: "", no: false });
  expect(Object.entries(found)).toEqual([
    ["b", 1],
    ["a", null],
    ["empty", ""],
    ["no", false],
  ]);
});
