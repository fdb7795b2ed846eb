/** Milliseconds since the Unix epoch, an integer. */
export type Instant = number;
/** A length of time in milliseconds, an integer. */
export type Millis = number;

// The writers throw a RangeError for NaN or more than 8.64e15 ms from 1970.

/** RFC 3339 UTC in whole seconds, rounded down, as Kubernetes' `Time`: `2026-01-31T12:00:00Z`. */
export function formatTime(at: Instant): string {
  const second = Math.floor(at / 1000);
  if (second !== lastSecond) {
    lastSecondText = `${new Date(at).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastSecondText;
}

// Objects created together share a second.
let lastSecond = 0;
let lastSecondText = "1970-01-01T00:00:00Z";

/** RFC 3339 UTC with six fractional digits, as Kubernetes' `MicroTime`. */
export const formatMicroTime = (at: Instant): string => `${new Date(at).toISOString().slice(0, 23)}000Z`;

// One pass writes one instant many times.
let lastFormatted: Instant = 0;
let lastText = "1970-01-01T00:00:00.000Z";

/** RFC 3339 UTC with milliseconds. */
export function formatInstant(at: Instant): string {
  if (at === lastFormatted) return lastText;
  lastText = new Date(at).toISOString();
  lastFormatted = at;
  return lastText;
}

// Objects created in one second have one text.
let lastRead = lastText;
let lastInstant: Instant = lastFormatted;

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Reads RFC 3339: `2026-01-31T12:00:00.123+01:00`. Digits beyond milliseconds are dropped; no `:60`, as in Go. Without
 * a text there is no instant.
 */
export function parseInstant(text: string | undefined): Instant | undefined {
  if (text === undefined) return undefined;
  if (text === lastRead) return lastInstant;
  const at = readInstant(text);
  if (at !== undefined) [lastRead, lastInstant] = [text, at];
  return at;
}

function readInstant(text: string): Instant | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  // Date.parse takes February 30 for March 2.
  const day = Number(match[3]);
  if (day > 28 && day > daysIn(Number(match[1]), Number(match[2]))) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

// Leap years repeat after 400 years; Date.UTC takes years 0 to 99 for 1900 to 1999. Day 0 is the last of the month
// before.
const daysIn = (year: number, month: number): number => new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
