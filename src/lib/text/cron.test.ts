import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatTime, parseInstant } from "#lib/base/index.ts";
import { nextTime, parseCron, timeZone } from "./index.ts";

const zoneNamed = (name: string) => {
  const zone = timeZone(name);
  if (!zone.ok) throw new Error(zone.error);
  return zone.value;
};
const scheduleOf = (text: string) => {
  const schedule = parseCron(text);
  if (!schedule.ok) throw new Error(schedule.error);
  return schedule.value;
};
const at = (text: string) => parseInstant(text) ?? Number.NaN;

/** The next times after one, as texts. */
function times(text: string, after: string, count: number, zone = "UTC"): readonly string[] {
  const found: string[] = [];
  let last = at(after);
  while (found.length < count) {
    const next = nextTime(scheduleOf(text), last, zoneNamed(zone));
    if (next === undefined) return found;
    found.push(formatTime(next));
    last = next;
  }
  return found;
}

describe("schedules", () => {
  test.each([
    ["* * * * *", "2026-01-01T00:00:30Z", ["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"]],
    ["*/20 * * * *", "2026-01-01T00:20:00Z", ["2026-01-01T00:40:00Z", "2026-01-01T01:00:00Z"]],
    [
      "5/25 9-10 * * *",
      "2026-01-01T00:00:00Z",
      ["2026-01-01T09:05:00Z", "2026-01-01T09:30:00Z", "2026-01-01T09:55:00Z"],
    ],
    ["0 0 1,15 * *", "2026-01-01T00:00:00Z", ["2026-01-15T00:00:00Z", "2026-02-01T00:00:00Z"]],
    ["0 12 * * MON-wed", "2026-01-01T00:00:00Z", ["2026-01-05T12:00:00Z", "2026-01-06T12:00:00Z"]],
    ["0 0 * feb ?", "2026-03-01T00:00:00Z", ["2027-02-01T00:00:00Z"]],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]],
    ["59 23 31 12 *", "2026-12-31T23:59:00Z", ["2027-12-31T23:59:00Z"]],
    ["@hourly", "2026-01-01T00:00:00Z", ["2026-01-01T01:00:00Z"]],
    ["@daily", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z"]],
    ["@midnight", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z"]],
    ["@weekly", "2026-01-01T00:00:00Z", ["2026-01-04T00:00:00Z"]],
    ["@monthly", "2026-01-01T00:00:00Z", ["2026-02-01T00:00:00Z"]],
    ["@yearly", "2026-01-01T00:00:00Z", ["2027-01-01T00:00:00Z"]],
    ["@every 90s", "2026-01-01T00:00:00Z", ["2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"]],
    ["@every 1ms", "2026-01-01T00:00:00Z", ["2026-01-01T00:00:01Z"]],
  ])("%s after %s", (text, after, expected) => {
    expect(times(text, after, expected.length)).toEqual(expected);
  });

  test("either kind of day counts when both are restricted, both must when one is a star", () => {
    expect(times("0 0 13 * 5", "2026-01-01T00:00:00Z", 4)).toEqual([
      "2026-01-02T00:00:00Z",
      "2026-01-09T00:00:00Z",
      "2026-01-13T00:00:00Z",
      "2026-01-16T00:00:00Z",
    ]);
    expect(times("0 0 * * 5", "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-02T00:00:00Z"]);
    // A step is a restriction: every odd day, and every Friday.
    expect(times("0 0 */2 * 5", "2026-01-01T00:00:00Z", 2)).toEqual(["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]);
  });

  test("a day that never comes is never due", () => {
    expect(times("0 0 31 2 *", "2026-01-01T00:00:00Z", 1)).toEqual([]);
  });

  test("a leap day is found over the end of a century without one", () => {
    expect(times("0 0 29 2 *", "2096-03-01T00:00:00Z", 1)).toEqual(["2104-02-29T00:00:00Z"]);
  });
});

describe("time zones", () => {
  test("a schedule is read off the wall clock", () => {
    expect(times("0 9 * * *", "2026-01-01T00:00:00Z", 1, "Asia/Kolkata")).toEqual(["2026-01-01T03:30:00Z"]);
    expect(times("0 0 1 * *", "2026-01-15T00:00:00Z", 1, "Pacific/Auckland")).toEqual(["2026-01-31T11:00:00Z"]);
  });

  test("an hour that is left out does not come", () => {
    expect(times("30 2 * * *", "2026-03-28T12:00:00Z", 2, "Europe/Berlin")).toEqual([
      "2026-03-30T00:30:00Z",
      "2026-03-31T00:30:00Z",
    ]);
  });

  test("an hour that comes twice is due twice", () => {
    expect(times("30 2 * * *", "2026-10-24T12:00:00Z", 3, "Europe/Berlin")).toEqual([
      "2026-10-25T00:30:00Z",
      "2026-10-25T01:30:00Z",
      "2026-10-26T01:30:00Z",
    ]);
  });

  test("a day without midnight begins later and still comes", () => {
    // In Cairo the clocks go from 23:59 on Thursday to 01:00 on Friday.
    expect(times("30 1 24 4 *", "2026-04-20T00:00:00Z", 1, "Africa/Cairo")).toEqual(["2026-04-23T22:30:00Z"]);
    expect(times("0 0 * * *", "2026-04-23T12:00:00Z", 1, "Africa/Cairo")).toEqual(["2026-04-24T21:00:00Z"]);
  });

  test("a zone that changes by half an hour loses no minute that exists", () => {
    // Lord Howe Island: 02:00 becomes 01:30 on 5 April 2026.
    expect(times("45 1 5 4 *", "2026-04-01T00:00:00Z", 2, "Australia/Lord_Howe")).toEqual([
      "2026-04-04T14:45:00Z",
      "2026-04-04T15:15:00Z",
    ]);
  });

  test.each([[""], ["Mars/Olympus"], ["local"], ["Local"], ["+01:00"], ["../etc/passwd"], ["Europe/"]])(
    "%j is no zone",
    (name) => {
      expect(timeZone(name)).toMatchObject({ ok: false, error: expect.stringContaining("unknown time zone") });
    },
  );

  test("without a name it is that of the machine", () => {
    const zone = timeZone();
    expect(zone.ok && Number.isInteger(zone.value.offsetAt(0) / 60_000)).toBe(true);
  });
});

test.each([
  ["", "expected exactly 5 fields, found 0"],
  ["* * * *", "expected exactly 5 fields, found 4"],
  ["* * * * * *", "expected exactly 5 fields, found 6"],
  ["60 * * * *", "minute: expected values from 0 to 59"],
  ["* 24 * * *", "hour: expected values from 0 to 23"],
  ["* * 0 * *", "day of month: expected values from 1 to 31"],
  ["* * * 13 *", "month: expected values from 1 to 12 or names such as feb"],
  ["* * * * 7", "day of week: expected values from 0 to 6 or names such as mon"],
  ["* * * * funday", "day of week: expected values from 0 to 6"],
  ["10-5 * * * *", "minute: the beginning of a range is after its end"],
  ["1-2-3 * * * *", "minute: expected values"],
  ["1- * * * *", "minute: expected values"],
  ["*/0 * * * *", "minute: a step must be above 0"],
  ["*/x * * * *", "minute: expected values"],
  [",5 * * * *", 'minute: expected values from 0 to 59, found ""'],
  ["L * * * *", "minute: expected values"],
  ["@fortnightly", 'unknown schedule "@fortnightly"'],
  ["@every soon", "expected a duration"],
  ["TZ=Asia/Tokyo 0 9 * * *", "cannot name a time zone"],
  ["CRON_TZ=Asia/Tokyo 0 9 * * *", "cannot name a time zone"],
  [`${"0,".repeat(600)}0 * * * *`, "at most 1000 characters"],
])("%j is refused", (text, message) => {
  expect(parseCron(text)).toEqual({ ok: false, error: expect.stringContaining(message) });
});

test("the next time is the first minute after that matches, in every zone", () => {
  const field = (from: number, to: number) =>
    fc.oneof(fc.constant("*"), fc.integer({ min: from, max: to }).map(String), fc.constant(`${from}-${to - 1}/2`));
  const zones = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe");
  const shown = (zone: string) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", day: "numeric" });
  fc.assert(
    fc.property(
      field(0, 59),
      field(0, 23),
      zones,
      fc.integer({ min: 0, max: 364 * 96 }),
      (minute, hour, name, quarter) => {
        const schedule = scheduleOf(`${minute} ${hour} * * *`);
        if ("every" in schedule) return;
        const start = Date.UTC(2026, 0, 1) + quarter * 900_000;
        const found = nextTime(schedule, start, zoneNamed(name)) ?? 0;
        const format = shown(name);
        const matches = (time: number) => {
          const parts = new Map(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
          return schedule.hours.has(parts.get("hour") ?? -1) && schedule.minutes.has(parts.get("minute") ?? -1);
        };
        expect(matches(found)).toBe(true);
        for (let time = Math.max(start, found - 120 * 60_000) + 60_000; time < found; time += 60_000)
          expect(matches(time)).toBe(false);
      },
    ),
    { numRuns: 60 },
  );
});
