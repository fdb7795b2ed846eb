import { err, type Instant, type Millis, ok, type Result } from "#lib/base/index.ts";

/** What the clocks on the wall show, somewhere. */
export interface TimeZone {
  /** What must be added to an instant to read it off a wall clock: 3600000 in Berlin in winter. */
  offsetAt(at: Instant): Millis;
}

/** An area and place, or `UTC` and its like; offsets such as `+01:00`, which newer engines take, are not names. */
const name = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;
/** Clocks change at quarters of an hour, so an offset holds to the end of the quarter it was asked for. */
const quarter: Millis = 15 * 60_000;

/** Opening a zone takes most of a millisecond, and a schedule asks for its own each time it is looked at. */
const opened = new Map<string, TimeZone>();
const mostOpened = 100;

/**
 * A zone of the IANA database by its name, the one of this machine when it has none. The error is a message. `Local`,
 * which Go knows, is refused: it means something else on every machine. Case does not matter here, in Kubernetes it
 * does.
 */
export function timeZone(zone?: string): Result<TimeZone, string> {
  // That of this machine may be another one the next time.
  if (zone === undefined) return ok(zoneOf(formatOf(zone)));
  if (!name.test(zone) || zone.toLowerCase() === "local") return err(unknown(zone));
  try {
    const known = opened.get(zone) ?? zoneOf(formatOf(zone));
    if (opened.size >= mostOpened) opened.clear();
    opened.set(zone, known);
    return ok(known);
  } catch (thrown) {
    // The only way to ask whether a name is known.
    if (thrown instanceof RangeError) return err(unknown(zone));
    throw thrown;
  }
}

const unknown = (zone: string): string =>
  `unknown time zone ${JSON.stringify(zone)}, expected a name such as Europe/Berlin`;

const formatOf = (zone: string | undefined): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    ...(zone === undefined ? {} : { timeZone: zone }),
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });

function zoneOf(format: Intl.DateTimeFormat): TimeZone {
  // A schedule asks for the minutes of one hour in turn: the last answer is the answer nearly always.
  let known: { readonly from: Instant; readonly offset: Millis } | undefined;
  return {
    offsetAt(at) {
      const from = Math.floor(at / quarter) * quarter;
      if (known?.from !== from) known = { from, offset: wallOf(format, from) - from };
      return known.offset;
    },
  };
}

/** What the clock on the wall shows, as if it were UTC. */
function wallOf(format: Intl.DateTimeFormat, at: Instant): number {
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
}
