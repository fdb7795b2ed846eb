import { expect, test } from "vitest";
import { formatInstant, formatMicroTime, formatTime, parseInstant } from "./index.ts";

const noon = Date.UTC(2026, 0, 31, 12, 0, 0);

test.each<readonly [string, number]>([
  ["2026-01-31T12:00:00Z", noon],
  ["2026-01-31t12:00:00z", noon],
  ["2026-01-31T13:30:00+01:30", noon],
  ["2026-01-31T12:00:00-00:00", noon],
  ["2026-01-30T23:00:00-13:00", noon],
  ["2026-01-31T12:00:00.5Z", noon + 500],
  ["2026-01-31T12:00:00.123999999Z", noon + 123],
  ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
  ["2000-02-29T00:00:00Z", Date.UTC(2000, 1, 29)],
  ["2026-12-31T23:59:59Z", Date.UTC(2026, 11, 31, 23, 59, 59)],
  ["1969-12-31T23:59:59.999Z", -1],
  ["0001-01-01T00:00:00Z", -62_135_596_800_000],
  ["0000-02-29T00:00:00Z", -62_162_121_600_000],
])("%s is an instant", (text, at) => {
  expect(parseInstant(text)).toBe(at);
});

test.each([
  "",
  "2026-01-31",
  "2026-01-31T12:00Z",
  "2026-01-31T12:00:00",
  "2026-01-31 12:00:00Z",
  "2026-01-31T12:00:00.Z",
  "2026-01-31T12:00:00+0100",
  "2026-01-31T12:00:00+01",
  " 2026-01-31T12:00:00Z",
  "2026-01-31T12:00:00Z\n",
  "+002026-01-31T12:00:00Z",
  "2026-00-01T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-01-00T00:00:00Z",
  "2026-01-32T00:00:00Z",
  "2026-02-29T00:00:00Z",
  "2100-02-29T00:00:00Z",
  "2026-04-31T00:00:00Z",
  "2026-01-31T24:00:00Z",
  "2026-01-31T12:60:00Z",
  "2026-12-31T23:59:60Z",
  "2026-01-31T12:00:00+24:00",
  "2026-01-31T12:00:00+01:60",
  "now",
])("%j is no instant", (text) => {
  expect(parseInstant(text)).toBeUndefined();
});

test("instants are written in the three forms that Kubernetes knows", () => {
  const at = noon + 7;
  expect(formatTime(at)).toBe("2026-01-31T12:00:00Z");
  expect(formatMicroTime(at)).toBe("2026-01-31T12:00:00.007000Z");
  expect(formatInstant(at)).toBe("2026-01-31T12:00:00.007Z");
});

test("the remembered text of an instant is not given for another one", () => {
  expect([0, 1, 1, 0].map(formatInstant)).toEqual([
    "1970-01-01T00:00:00.000Z",
    "1970-01-01T00:00:00.001Z",
    "1970-01-01T00:00:00.001Z",
    "1970-01-01T00:00:00.000Z",
  ]);
});

test.each([Number.NaN, 8.64e15 + 1])("%d is no instant to write, now or later", (at) => {
  for (const format of [formatInstant, formatTime, formatMicroTime]) expect(() => format(at)).toThrow(RangeError);
  expect(formatInstant(noon)).toBe("2026-01-31T12:00:00.000Z");
});
