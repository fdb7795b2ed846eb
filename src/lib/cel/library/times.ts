import { Duration } from "@marcbachmann/cel-js/evaluator";
import { parseInstant } from "#lib/base/index.ts";
import { formatDuration, formatTimestamp } from "../values.ts";
import { asText, type LibraryFunction } from "./function.ts";

// Timestamps are JavaScript's Date: milliseconds, where CEL has nanoseconds. Digits beyond are dropped when they are
// read.

function asDate(value: unknown): Date {
  if (value instanceof Date) return value;
  throw new Error("expected a timestamp");
}

function asDuration(value: unknown): Duration {
  if (value instanceof Duration) return value;
  throw new Error("expected a duration");
}

/** CEL's timestamps are those of years 1 to 9999. */
const earliest = -62_135_596_800_000;
const latest = 253_402_300_799_999;

/** The timestamp of an instant that CEL can hold; `shown` is what the message names. */
function timestampAt(at: number, shown: unknown): Date {
  if (at >= earliest && at <= latest) return new Date(at);
  throw new Error(`timestamp(): ${String(shown)} is not within the years 1 to 9999`);
}

/** RFC 3339, or seconds since 1970. The CEL library takes the 30th of February and the hour 24 for the day after. */
function toTimestamp(value: unknown): Date {
  if (value instanceof Date) return value;
  if (typeof value === "bigint") return timestampAt(Number(value) * 1000, value);
  const at = parseInstant(asText(value));
  if (at !== undefined) return timestampAt(at, value);
  throw new Error(`timestamp() expects a time such as 2026-01-31T12:00:00Z, found ${JSON.stringify(value)}`);
}

/** Midnight of a day. Date.UTC would take the years 0 to 99 for 1900 to 1999. */
const utcDay = (year: number, month: number, day: number): number => new Date(0).setUTCFullYear(year, month, day);

/** The instant whose UTC fields are the local fields of `at` in a zone: an offset such as `+02:00`, or a name. */
function localTime(at: unknown, zone: unknown): Date {
  if (zone === undefined) return asDate(at);
  const offset = /^([+-]?)(\d{1,2}):(\d{2})$/.exec(asText(zone));
  if (offset === null) return zonedTime(asDate(at), asText(zone));
  const minutes = Number(offset[2]) * 60 + Number(offset[3]);
  return new Date(asDate(at).getTime() + (offset[1] === "-" ? -minutes : minutes) * 60_000);
}

// Making a formatter takes some 50 µs, using it 2. Names come from documents: the number is bounded.
const zones = new Map<string, Intl.DateTimeFormat>();
const mostZones = 50;

/** Through the zone's calendar, because offsets change within a zone. Seconds of historic offsets are kept. */
function zonedTime(at: Date, zone: string): Date {
  const fields = Object.fromEntries(
    zoneFormat(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
  const timeOfDay = ((hour * 60 + minute) * 60 + second) * 1000 + at.getUTCMilliseconds();
  return new Date(utcDay(year, month - 1, day) + timeOfDay);
}

/** The formatter of a zone, made once; all are forgotten when there are too many. */
function zoneFormat(zone: string): Intl.DateTimeFormat {
  const known = zones.get(zone);
  if (known !== undefined) return known;
  const made = createZoneFormat(zone);
  if (zones.size >= mostZones) zones.clear();
  zones.set(zone, made);
  return made;
}

function createZoneFormat(zone: string): Intl.DateTimeFormat {
  const numeric = { year: "numeric", month: "numeric", day: "numeric" } as const;
  const clock = { hour: "numeric", minute: "numeric", second: "numeric", hourCycle: "h23" } as const;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: zone, ...numeric, ...clock });
  } catch {
    // The only field that can be wrong is the zone.
    throw new Error(`unknown time zone ${JSON.stringify(zone)}`);
  }
}

/** From 0. */
const dayOfYear = (at: Date): number => Math.floor((at.getTime() - utcDay(at.getUTCFullYear(), 0, 1)) / 86_400_000);

/** Days of the month and of the year count from 0 in these accessors, as CEL defines; `getDate` counts from 1. */
const fields: Readonly<Record<string, (at: Date) => number>> = {
  getFullYear: (at) => at.getUTCFullYear(),
  getMonth: (at) => at.getUTCMonth(),
  getDate: (at) => at.getUTCDate(),
  getDayOfMonth: (at) => at.getUTCDate() - 1,
  getDayOfWeek: (at) => at.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (at) => at.getUTCHours(),
  getMinutes: (at) => at.getUTCMinutes(),
  getSeconds: (at) => at.getUTCSeconds(),
  getMilliseconds: (at) => at.getUTCMilliseconds(),
};

// Names of CEL's own types, which are those of protobuf.
const timestamp = "google.protobuf.Timestamp";
const duration = "google.protobuf.Duration";

/** The accessors of the CEL library depend on the time zone of the process. */
const timestampFields = Object.entries(fields).flatMap(([name, read]): LibraryFunction[] => {
  const call = (at: unknown, zone?: unknown): bigint => BigInt(read(localTime(at, zone)));
  return [
    { signature: `${timestamp}.${name}(): int`, call, replaces: true },
    { signature: `${timestamp}.${name}(string): int`, call, replaces: true },
  ];
});

/** Exact: two numbers of JavaScript could not hold all nanoseconds of ten thousand years. */
const nanosOf = (value: unknown): bigint => {
  const length = asDuration(value);
  return length.seconds * 1_000_000_000n + BigInt(length.nanos);
};

/** The accessors of durations convert the whole length, toward zero: `duration("3730s").getMinutes()` is 62. */
export const timeFunctions: readonly LibraryFunction[] = [
  { signature: `timestamp(string): ${timestamp}`, call: toTimestamp, replaces: true },
  { signature: `timestamp(int): ${timestamp}`, call: toTimestamp, replaces: true },
  { signature: `timestamp(${timestamp}): ${timestamp}`, call: toTimestamp, replaces: true },
  ...timestampFields,
  { signature: `${duration}.getHours(): int`, call: (value) => nanosOf(value) / 3_600_000_000_000n, replaces: true },
  { signature: `${duration}.getMinutes(): int`, call: (value) => nanosOf(value) / 60_000_000_000n, replaces: true },
  { signature: `${duration}.getSeconds(): int`, call: (value) => nanosOf(value) / 1_000_000_000n, replaces: true },
  { signature: `${duration}.getMilliseconds(): int`, call: (value) => nanosOf(value) / 1_000_000n, replaces: true },
  { signature: `string(${timestamp}): string`, call: (value) => formatTimestamp(asDate(value)) },
  { signature: `string(${duration}): string`, call: (value) => formatDuration(asDuration(value)) },
];
