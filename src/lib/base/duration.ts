import { err, ok, type Result } from "./result.ts";
import type { Millis } from "./time.ts";

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 6e4,
  h: 3.6e6,
};
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy;

/** Reads a duration in Go's syntax: `1h30m`, `1.5s`, `300ms`, `-2m`, `0`. Fractions of a millisecond are dropped. */
export function parseDuration(text: string): Result<Millis, string> {
  const negative = text.startsWith("-");
  const body = text.replace(/^[+-]/, "");
  if (body === "0") return ok(0);
  let total = 0;
  let end = 0;
  part.lastIndex = 0;
  for (let match = part.exec(body); match !== null; match = part.exec(body)) {
    total += Number(match[1]) * (unitMs[match[2] ?? ""] ?? 0);
    end = part.lastIndex;
  }
  if (end === 0 || end !== body.length)
    return err(`expected a duration such as 1h30m, 45s or 300ms, found ${JSON.stringify(text)}`);
  return ok(Math.trunc(negative ? -total : total));
}

/** Kubernetes' duration for people: `59s`, `2m5s` below 10 minutes, `3h10m`, `5d`, `2y30d`. Negative counts as 0. */
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
