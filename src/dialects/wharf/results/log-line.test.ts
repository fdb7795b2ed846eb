import { expect, test } from "vitest";
import { linesOf, parseLogTime } from "./log-line.ts";

test.each([
  ["2026-01-31T12:00:00Z", { seconds: 1_769_860_800, nanos: 0 }],
  ["2026-01-31T12:00:00.5Z", { seconds: 1_769_860_800, nanos: 500_000_000 }],
  ["2026-01-31T13:00:00.123456789+01:00", { seconds: 1_769_860_800, nanos: 123_456_789 }],
  ["1969-12-31T23:59:59.000000001Z", { seconds: -1, nanos: 1 }],
  ["2026-01-31T12:00:00.1234567890Z", undefined],
  ["2026-02-30T12:00:00Z", undefined],
  ["2026-01-31T12:00:00", undefined],
  ["", undefined],
])("the time %s", (text, expected) => {
  expect(parseLogTime(text)).toEqual(expected);
});

test("a line without a time is a message, and so is a last line without end", () => {
  const bytes = Buffer.concat([
    Buffer.from("2026-01-31T12:00:00Z one two\n2026-01-31T12:00:00Z \nno time at all here\n\n2026-01-31T12:00:0"),
    Buffer.from([0xff]),
  ]);
  const lines = [...linesOf({ stepId: 1, firstId: 7, lines: 5, bytes })];
  const time = { seconds: 1_769_860_800, nanos: 0 };
  expect(lines).toEqual([
    { id: 7, time, message: "one two" },
    { id: 8, time, message: "" },
    { id: 9, time: undefined, message: "no time at all here" },
    { id: 10, time: undefined, message: "" },
    { id: 11, time: undefined, message: "2026-01-31T12:00:0\u{fffd}" },
  ]);
});
