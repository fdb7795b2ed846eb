import { expect, test } from "vitest";
import { editDistance, nearestId } from "./nearest.ts";

test.each([
  ["thre", ["one", "two", "three"], "three"],
  ["biuld", ["test", "build"], "build"],
  ["deploy-prod", ["deploy"], undefined],
  ["ab", ["cd"], undefined],
  ["a", ["b"], undefined],
  ["tset", ["rest", "test"], "test"],
  ["x1", ["x2", "x3"], "x2"],
])("of a misspelt %j among %j, %j is meant", (wanted, candidates, expected) => {
  expect(nearestId(wanted, candidates)).toBe(expected);
});

test.each([
  ["", "", 0],
  ["abc", "abc", 0],
  ["abc", "acb", 1],
  ["abc", "ab", 1],
  ["abc", "xbc", 1],
  ["abc", "abcd", 1],
  ["kitten", "sitting", 3],
])("from %j to %j it takes %d edits", (a, b, edits) => {
  expect(editDistance(a, b)).toBe(edits);
  expect(editDistance(b, a)).toBe(edits);
});
