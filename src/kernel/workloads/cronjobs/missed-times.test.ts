import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import { nextTime, parseCron, timeZone } from "#lib/text/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { type Calendar, manyMissed, missedTimes } from "./missed-times.ts";

const perMinute = 60_000;
const perDay = 24 * 60 * perMinute;
const start = Date.UTC(2026, 0, 1);

function calendar(text: string, name = "UTC"): Calendar {
  const [schedule, zone] = [parseCron(text), timeZone(name)];
  if (!schedule.ok || !zone.ok) throw new Error("no calendar");
  return { schedule: schedule.value, zone: zone.value };
}

test.each([
  ["nothing before the first time", "0 12 * * *", 60, undefined, false],
  ["a time that is now", "0 1 * * *", 60, 60, false],
  ["the later of two", "0 * * * *", 150, 120, false],
  ["exactly a hundred are not yet many", "* * * * *", manyMissed, manyMissed, false],
  ["more than a hundred are", "* * * * *", manyMissed + 1, manyMissed + 1, true],
  ["a week of minutes", "* * * * *", 7 * 24 * 60, 7 * 24 * 60, true],
  ["a distance", "@every 90s", 4, 3, false],
  ["a hundred distances", "@every 1m", 100, 100, false],
  ["more distances", "@every 1m", 101, 101, true],
])("%s", (_what, text, minutes, latest, isMany) => {
  expect(missedTimes(calendar(text), start, start + minutes * perMinute)).toEqual({
    ...(latest === undefined ? {} : { latest: start + latest * perMinute }),
    isMany,
  });
});

test("a time that never comes is never missed", () => {
  expect(missedTimes(calendar("0 0 30 2 *"), start, start + 4000 * perDay)).toEqual({ isMany: false });
});

test("after many years it is still the last time that counts, and is soon found", () => {
  const now = start + 3650 * perDay + 12_345_678;
  const { latest = 0, isMany } = missedTimes(calendar("*/7 * * * *", "Europe/Berlin"), start, now);
  expect([isMany, formatTime(latest)]).toEqual([true, "2035-12-30T03:21:00Z"]);
});

test("the latest missed time is due, is not after now, and nothing is due between it and now", () => {
  const minutes = fc.constantFrom("*", "0", "17", "*/7", "0-30/10");
  const hours = fc.constantFrom("*", "0", "3", "*/5");
  const days = fc.constantFrom("* * *", "1 * *", "* * 1-5", "15 */2 *");
  const zones = fc.constantFrom("UTC", "Europe/Berlin", "America/St_Johns");
  const spans = fc.integer({ min: 0, max: 60 * 24 * 60 });
  fc.assert(
    fc.property(minutes, hours, days, zones, spans, (minute, hour, day, zone, span) => {
      const made = calendar(`${minute} ${hour} ${day}`, zone);
      const now = start + span * perMinute + 30_000;
      const { latest } = missedTimes(made, start, now);
      const next = nextTime(made.schedule, latest ?? start, made.zone) ?? Infinity;
      expect(next).toBeGreaterThan(now);
      if (latest === undefined) return;
      expect(latest).toBeLessThanOrEqual(now);
      expect(nextTime(made.schedule, latest - 1, made.zone)).toBe(latest);
    }),
    { numRuns: runs(100) },
  );
});
