import { expect, test } from "vitest";
import { countMembers, endOfString, scanJson } from "./scan.ts";

test.each([
  ["{}", 0],
  ['{"a": {"b": 1}, "c": [{"d": ":"}]}', 4],
  ['{":": ":::", "\\":": "\\\\"}', 2],
])("%s names %d members", (text, members) => {
  expect(scanJson(text, 10)).toEqual({ members, suspicious: false });
  expect(countMembers(JSON.parse(text))).toBe(members);
});

test.each([
  ["1234567890123456", true],
  ["123456789012345", false],
  ['"1234567890123456"', false],
  ["-0", true],
  ["-0.5", true],
  ["-5", false],
  ["1e3", true],
  ["1E3", true],
  ["0.000001", false],
  ['"1e5 -0"', false],
  ["[[1]]", false],
  ["[[[1]]]", true],
  ['["[[["]', false],
])("%s is suspicious at a depth of 2: %s", (text, suspicious) => {
  expect(scanJson(text, 2).suspicious).toBe(suspicious);
});

test.each([
  ['"abc"', 4],
  ['"a\\"b"', 5],
  ['"a\\\\"', 4],
  ['"a\\\\\\""', 6],
  ['"open', 5],
  ['"open\\"', 7],
])("the string %s ends at %d", (text, end) => {
  expect(endOfString(text, 0)).toBe(end);
});
