import { expect, test } from "vitest";
import { parseRange } from "./byte-range.ts";

test.each([
  [undefined, undefined],
  ["bytes=0-0", { first: 0, last: 0 }],
  ["bytes=0-", { first: 0, last: 9 }],
  ["Bytes=3-5", { first: 3, last: 5 }],
  ["bytes=5-99", { first: 5, last: 9 }],
  ["bytes=-4", { first: 6, last: 9 }],
  ["bytes=-99", { first: 0, last: 9 }],
  ["bytes=10-", "bad"],
  ["bytes=-0", "bad"],
  ["bytes=5-4", "bad"],
  ["bytes=-", "bad"],
  ["bytes=a-b", "bad"],
  ["bytes=0-1,3-4", undefined],
  ["lines=0-1", undefined],
])("of ten bytes %j is %j", (header, range) => {
  expect(parseRange(header, 10)).toEqual(range);
});

test("nothing can be given of no bytes", () => {
  expect(parseRange("bytes=0-0", 0)).toBe("bad");
  expect(parseRange("bytes=-1", 0)).toBe("bad");
});
