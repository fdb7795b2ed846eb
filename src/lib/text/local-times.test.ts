import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatTime, type Instant, parseInstant } from "#lib/base/index.ts";
import { type CronFields, nextLocalTime, nextTime, parseCron, passedTimes, timeZone } from "./index.ts";

const zoneNamed = (name: string) => {
  const zone = timeZone(name);
  if (!zone.ok) throw new Error(zone.error);
  return zone.value;
};
const fieldsOf = (text: string): CronFields => {
  const schedule = parseCron(text);
  if (!schedule.ok || "every" in schedule.value) throw new Error(text);
  return schedule.value;
};
const at = (text: string): Instant => parseInstant(text) ?? Number.NaN;

/** All times of one schedule between two instants, the second included. */
function between(text: string, zone: string, from: string, to: string): readonly string[] {
  const place = zoneNamed(zone);
  const next = (after: Instant) => nextLocalTime(fieldsOf(text), after, place);
  return passedTimes(next, at(from) - 1, at(to) - 1, 10_000).first.map(formatTime);
}
const pacific = "America/Los_Angeles";
/** A local day of Los Angeles in 2020. */
const march8 = ["2020-03-08T08:00:00Z", "2020-03-09T07:00:00Z"] as const;
const november1 = ["2020-11-01T07:00:00Z", "2020-11-02T08:00:00Z"] as const;

describe("a fixed hour", () => {
  test("that the clocks leave out runs at the first instant after the gap", () => {
    expect(between("30 2 * * *", pacific, ...march8)).toEqual(["2020-03-08T10:00:00Z"]);
  });

  test("that comes twice runs the first time only", () => {
    expect(between("59 1 * * *", pacific, ...november1)).toEqual(["2020-11-01T08:59:00Z"]);
  });

  test("runs once where several of its times fall into the gap", () => {
    expect(between("*/10 2 * * *", pacific, ...march8)).toEqual(["2020-03-08T10:00:00Z"]);
    expect(between("0 2,3 * * *", pacific, ...march8)).toEqual(["2020-03-08T10:00:00Z"]);
  });

  test("runs at midnight where the clocks leave midnight out, or repeat it", () => {
    expect(between("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T12:00:00Z")).toEqual([
      "2018-11-04T03:00:00Z",
      "2018-11-05T02:00:00Z",
    ]);
    expect(between("30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00Z", "2018-02-18T12:00:00Z")).toEqual([
      "2018-02-18T01:30:00Z",
    ]);
  });

  test("goes by zones whose clocks move by half an hour", () => {
    expect(between("15 2 * * *", "Australia/Lord_Howe", "2020-10-03T12:00:00Z", "2020-10-04T12:00:00Z")).toEqual([
      "2020-10-03T15:30:00Z",
    ]);
  });

  test("does not run for a day that the calendar leaves out", () => {
    expect(between("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2011-12-31T12:00:00Z")).toEqual([
      "2011-12-29T22:00:00Z",
      "2011-12-30T22:00:00Z",
    ]);
  });

  test("of a day that never comes is never due", () => {
    expect(nextLocalTime(fieldsOf("0 0 31 2 *"), 0, zoneNamed(pacific))).toBeUndefined();
  });

  test.each([pacific, "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca"])(
    "runs once on every day of twenty years in %s",
    (zone) => {
      const place = zoneNamed(zone);
      fc.assert(
        fc.property(
          fc.integer({ min: at("2005-01-01T00:00:00Z"), max: at("2025-01-01T00:00:00Z") }),
          fc.integer({ min: 0, max: 23 }),
          fc.integer({ min: 0, max: 59 }),
          (from, hour, minute) => {
            const fields = fieldsOf(`${minute} ${hour} * * *`);
            const { first } = passedTimes(
              (after) => nextLocalTime(fields, after, place),
              from,
              from + 40 * 86_400_000,
              50,
            );
            const days = first.map((time) => Math.floor((time + place.offsetAt(time)) / 86_400_000));
            for (const [index, day] of days.entries()) expect(day).toBe((days[0] ?? 0) + index);
            expect(first.length).toBeGreaterThanOrEqual(39);
          },
        ),
        { numRuns: 30 },
      );
    },
  );
});

describe("an hour that begins with a star", () => {
  test("goes by the clock as it reads: 48 half hours on an ordinary day, 46 and 50 when it is changed", () => {
    expect(between("*/30 * * * *", pacific, "2020-03-07T08:00:00Z", "2020-03-08T08:00:00Z")).toHaveLength(48);
    expect(between("*/30 * * * *", pacific, ...march8)).toHaveLength(46);
    expect(between("*/30 * * * *", pacific, ...november1)).toHaveLength(50);
  });

  test("skips what is left out", () => {
    expect(between("30 */2 * * *", pacific, ...march8)).not.toContain("2020-03-08T10:00:00Z");
    expect(nextLocalTime(fieldsOf("@hourly"), 0, zoneNamed(pacific))).toBe(
      nextTime(fieldsOf("@hourly"), 0, zoneNamed(pacific)),
    );
  });
});

describe("times that have passed", () => {
  const minutely = (after: Instant) => (Math.floor(after / 60_000) + 1) * 60_000;

  test("are told in order, with the latest, and no more than were asked for", () => {
    expect(passedTimes(minutely, 0, 180_000, 5)).toEqual({
      first: [60_000, 120_000, 180_000],
      latest: 180_000,
      isMore: false,
    });
    expect(passedTimes(minutely, 0, 59_999, 5)).toEqual({ first: [], isMore: false });
    expect(passedTimes(minutely, 0, 180_000, 3).isMore).toBe(false);
  });

  test("of a year of minutes cost a look at the calendar for each that is told, and few more", () => {
    let looks = 0;
    const now = 365 * 86_400_000 + 30_000;
    const counted = (after: Instant) => {
      looks++;
      return minutely(after);
    };
    expect(passedTimes(counted, 0, now, 10)).toMatchObject({ latest: now - 30_000, isMore: true });
    expect(looks).toBeLessThan(60);
  });
});
