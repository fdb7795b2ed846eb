import { Duration } from "@marcbachmann/cel-js/evaluator";
import { formatDuration, formatTimestamp } from "../values.ts";
import { asText, type LibraryFunction } from "./function.ts";

function asDate(value: unknown): Date {
  if (value instanceof Date) return value;
  throw new Error("expected a timestamp");
}

function asDuration(value: unknown): Duration {
  if (value instanceof Duration) return value;
  throw new Error("expected a duration");
}

/** The instant whose UTC fields are the local fields of `at` in a zone: an offset such as `+02:00`, or a zone's name. */
function localTime(at: unknown, zone: unknown): Date {
  if (zone === undefined) return asDate(at);
  const offset = /^([+-]?)(\d{1,2}):(\d{2})$/.exec(asText(zone));
  if (offset === null) return zonedTime(asDate(at), asText(zone));
  const minutes = Number(offset[2]) * 60 + Number(offset[3]);
  return new Date(asDate(at).getTime() + (offset[1] === "-" ? -minutes : minutes) * 60_000);
}

const zones = new Map<string, Intl.DateTimeFormat>();
const mostZones = 50;

function zonedTime(at: Date, zone: string): Date {
  const fields = Object.fromEntries(
    zoneFormat(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second, at.getUTCMilliseconds()));
}

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

const dayOfYear = (at: Date): number => Math.floor((at.getTime() - Date.UTC(at.getUTCFullYear(), 0, 1)) / 86_400_000);

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

const nanosOf = (value: unknown): bigint => {
  const length = asDuration(value);
  return length.seconds * 1_000_000_000n + BigInt(length.nanos);
};

export const timeFunctions: readonly LibraryFunction[] = [
  ...timestampFields,
  { signature: `${duration}.getHours(): int`, call: (value) => nanosOf(value) / 3_600_000_000_000n, replaces: true },
  { signature: `${duration}.getMinutes(): int`, call: (value) => nanosOf(value) / 60_000_000_000n, replaces: true },
  { signature: `${duration}.getSeconds(): int`, call: (value) => nanosOf(value) / 1_000_000_000n, replaces: true },
  { signature: `${duration}.getMilliseconds(): int`, call: (value) => nanosOf(value) / 1_000_000n, replaces: true },
  { signature: `string(${timestamp}): string`, call: (value) => formatTimestamp(asDate(value)) },
  { signature: `string(${duration}): string`, call: (value) => formatDuration(asDuration(value)) },
];
