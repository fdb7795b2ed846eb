import { expect, test } from "vitest";
import { queryOf } from "./filters.ts";

test("13 filters are pairs, or words with operators", () => {
  expect(queryOf(["Name=a=b", "sort=Name"])).toEqual([
    ["Name", "a=b"],
    ["sort", "Name"],
  ]);
  expect(queryOf(["Stage", "eq", "none", "Name", "Between", "a", "b", "reverse", "limit", "3"])).toEqual([
    ["Stage", "Eq(none)"],
    ["Name", "Between(a,b)"],
    ["reverse", "true"],
    ["limit", "3"],
  ]);
  expect(queryOf(["Name", "Except", "a,b"])).toEqual([["Name", "Except(a,b)"]]);
  expect(queryOf([])).toEqual([]);
});

test("13 incomplete filters are refused", () => {
  expect(() => queryOf(["Name"])).toThrow("Invalid Filter: Name requires an op and at least 1 parameter");
  expect(() => queryOf(["Name", "Eq"])).toThrow("Invalid Filter: Name op Eq requires 1 parameter");
  expect(() => queryOf(["Name", "Like", "x"])).toThrow("unknown op Like");
  expect(() => queryOf(["a=b", "c"])).toThrow("Filter argument requires an '=' separator: c");
});
