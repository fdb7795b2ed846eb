import { expect, test } from "vitest";
import { formatAge, parseDuration } from "./index.ts";

// The values are those of Go's time.ParseDuration, cut to milliseconds.
test.each([
  ["0", 0],
  ["-0", 0],
  ["+0", 0],
  ["-0s", 0],
  ["0h", 0],
  ["1h30m", 5_400_000],
  ["30m1h", 5_400_000],
  ["1h1h", 7_200_000],
  ["1.5s", 1500],
  ["+5s", 5000],
  ["-2m", -120_000],
  ["5.s", 5000],
  [".5s", 500],
  ["-.5s", -500],
  ["1.001s", 1001],
  ["1.005s", 1005],
  ["4.35s", 4350],
  ["0.57h", 2_052_000],
  ["0.3333333333333333333h", 1_199_999],
  ["999999ns", 0],
  ["1000000ns", 1],
  ["500us500us", 1],
  ["1500µs", 1],
  ["1500μs", 1],
  ["-1999us", -1],
  ["300ms", 300],
  ["8760h", 31_536_000_000],
  ["2562047h47m16.854s", 9_223_372_036_854],
])("the duration %s is %d ms", (text, expected) => {
  expect(parseDuration(text)).toEqual({ ok: true, value: expected });
});

test.each([
  "",
  "-",
  "+",
  "5",
  "00",
  "3000",
  "s",
  "h",
  ".s",
  "-.s",
  "--1s",
  "+-1s",
  "1 week",
  "1h 2m",
  " 1s",
  "1s ",
  "1d",
  "1w",
  "1y",
  "1S",
  "1H",
  "1e3s",
  "1,5s",
  "1.2.3s",
  "1s2",
  "s1",
  "0x1s",
  "Infinitys",
  "٣s",
  "1s\n",
])("%j is no duration", (text) => {
  const found = JSON.stringify(text);
  const error = `expected a duration such as 1h30m, 45s or 300ms, found ${found}`;
  expect(parseDuration(text)).toEqual({ ok: false, error });
});

test.each(["2562047h47m17s", "-2562048h", "99999999999999999999h", `${"9".repeat(90)}h`])(
  "%s is longer than Go can keep",
  (text) => {
    expect(parseDuration(text)).toEqual({
      ok: false,
      error: `a duration can be at most 292 years, found ${JSON.stringify(text)}`,
    });
  },
);

test("a megabyte that pretends to be a duration is refused at once, and not repeated in full", () => {
  const refused = parseDuration(`${"1".repeat(1_000_000)}h`);
  expect(refused).toMatchObject({ ok: false, error: expect.stringMatching(/^expected a duration .{1,180}$/) });
});

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

// The steps of Kubernetes' HumanDuration, each on both sides of its border.
test.each([
  [-5, "0s"],
  [0, "0s"],
  [59, "59s"],
  [119, "119s"],
  [2 * minute, "2m"],
  [125, "2m5s"],
  [10 * minute - 1, "9m59s"],
  [10 * minute, "10m"],
  [10 * minute + 59, "10m"],
  [3 * hour - 1, "179m"],
  [3 * hour, "3h"],
  [3 * hour + 10 * minute, "3h10m"],
  [8 * hour - 1, "7h59m"],
  [8 * hour, "8h"],
  [8 * hour + 59 * minute, "8h"],
  [2 * day - 1, "47h"],
  [2 * day, "2d"],
  [2 * day + hour, "2d1h"],
  [8 * day - 1, "7d23h"],
  [8 * day, "8d"],
  [8 * day + 23 * hour, "8d"],
  [2 * year - 1, "729d"],
  [2 * year, "2y"],
  [760 * day, "2y30d"],
  [8 * year - 1, "7y364d"],
  [8 * year, "8y"],
  [100 * year + 30 * day, "100y"],
])("an age of %d seconds reads %s", (seconds, text) => {
  expect(formatAge(seconds * 1000)).toBe(text);
});

test("an age is cut, never rounded up", () => {
  expect(formatAge(1999)).toBe("1s");
  expect(formatAge(119_999)).toBe("119s");
});
