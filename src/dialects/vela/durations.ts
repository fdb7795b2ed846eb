import { err, type Millis, ok, parseDuration, type Result } from "#lib/base/index.ts";

const day: Millis = 86_400_000;

/** Go durations and days: `1d`, `1d12h`. Not negative. */
export function parseTimeout(text: string): Result<Millis, string> {
  const [, days = "0", rest = ""] = /^(?:(\d{1,6})d)?(.*)$/s.exec(text.trim()) ?? [];
  const parsed = rest === "" && text.trim() !== "" ? ok(0) : parseDuration(rest);
  if (!parsed.ok || parsed.value < 0 || text.trim() === "") return err("invalid timeout, use 1s, 1m, 1h or 1d");
  return ok(Number(days) * day + parsed.value);
}

/** Undefined if absent or unreadable, which admission refuses. */
export function timeoutOf(text: string | undefined): Millis | undefined {
  if (text === undefined || text === "") return undefined;
  const parsed = parseTimeout(text);
  return parsed.ok ? parsed.value : undefined;
}
