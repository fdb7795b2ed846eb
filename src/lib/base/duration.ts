import { err, ok, type Result } from "./result.ts";
import type { Millis } from "./time.ts";

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
// "µs" may have the micro sign (U+00B5) or the Greek letter (U+03BC), as in Go.
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/gy;

/** Go's durations are 64 bits of nanoseconds. */
const longestNanos = 2n ** 63n - 1n;
/** Bounds the work with big numbers. */
const longestText = 100;

/** Reads Go's durations: `1h30m`, `1.5s`, `300ms`, `-2m`, `0`; no days. Drops fractions of a millisecond. */
export function parseDuration(text: string): Result<Millis, string> {
  const body = text.replace(/^[+-]/, "");
  if (body === "0") return ok(0);
  const nanos = body.length > longestText ? undefined : sumParts(body);
  if (nanos === undefined) return err(`expected a duration such as 1h30m, 45s or 300ms, found ${shown(text)}`);
  if (nanos > longestNanos) return err(`a duration can be at most 292 years, found ${shown(text)}`);
  const millis = Number(nanos / 1_000_000n);
  // "-0" is no JSON integer.
  return ok(text.startsWith("-") && millis !== 0 ? -millis : millis);
}

const shown = (text: string): string =>
  JSON.stringify(text.length > longestText ? `${text.slice(0, longestText)}…` : text);

/** Exact: as a number `1.001s` would be 1000.9999999999999 ms. */
function sumParts(body: string): bigint | undefined {
  let total = 0n;
  let end = 0;
  part.lastIndex = 0;
  for (let match = part.exec(body); match !== null; match = part.exec(body)) {
    const [, whole = "", fraction = "", unit = ""] = match;
    if (whole + fraction === "") return undefined;
    total += (BigInt(whole + fraction) * (unitNanos[unit] ?? 0n)) / 10n ** BigInt(fraction.length);
    end = part.lastIndex;
  }
  return end === 0 || end !== body.length ? undefined : total;
}

/** Kubernetes' AGE: `59s`, `2m5s` below 10 minutes, `3h10m`, `5d`, `2y30d`. Negative (clock skew) counts as 0. */
export function formatAge(age: Millis): string {
  const seconds = Math.max(0, Math.floor(age / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const years = Math.floor(days / 365);
  const pair = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (hours < 192) return pair(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  if (days < 8 * 365) return pair(years, "y", days % 365, "d");
  return `${years}y`;
}
