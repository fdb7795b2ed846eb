import { expect, test } from "vitest";
import { formatIndexes, parseIndexes } from "./index-set.ts";

test.each<[string | undefined, readonly number[]]>([
  [undefined, []],
  ["", []],
  ["0", [0]],
  ["0-2,5", [0, 1, 2, 5]],
  ["7,3-4", [7, 3, 4]],
  ["3-3", [3]],
  ["4-3", []],
  ["1,1-2", [1, 2]],
  ["1,x,-2,3-,4", [1, 4]],
  [" 1", []],
])("%j names %j", (text, indexes) => {
  expect([...parseIndexes(text)]).toEqual(indexes);
});

test.each<[readonly number[], string]>([
  [[], ""],
  [[0], "0"],
  [[2, 0, 1], "0-2"],
  [[0, 1, 3, 5, 6], "0,1,3,5,6"],
  [[0, 1, 2, 4, 5], "0-2,4,5"],
  [[10, 9, 11, 9], "9-11"],
  [[99_998, 99_999], "99998,99999"],
])("%j is written %j", (indexes, text) => {
  expect(formatIndexes(indexes)).toBe(text);
});

test("a hundred thousand indexes are one short text", () => {
  const all = Array.from({ length: 100_000 }, (_, index) => index);
  expect(formatIndexes(all)).toBe("0-99999");
  expect(parseIndexes("0-99999").size).toBe(100_000);
});

test("indexes that are not asked for any more are not read", () => {
  expect([...parseIndexes("0,2-5,7", 4)]).toEqual([0, 2, 3]);
});
