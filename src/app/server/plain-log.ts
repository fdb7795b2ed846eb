import { type Clock, formatInstant, type LogFields, type Logger } from "#lib/base/index.ts";

export type LogLevel = "error" | "warn" | "info" | "debug";

const levels: readonly LogLevel[] = ["error", "warn", "info", "debug"];

/** One readable line per entry on stderr: time, level, message, then `name=value` fields. */
export function plainLog(level: LogLevel, clock: Clock, fields: LogFields = {}): Logger {
  const write =
    (of: LogLevel) =>
    (message: string, more: LogFields = {}): void => {
      if (levels.indexOf(of) > levels.indexOf(level)) return;
      const texts = Object.entries({ ...fields, ...more }).map(([key, value]) => `${key}=${textOf(value)}`);
      process.stderr.write(`${formatInstant(clock.now())} ${of.padEnd(5)} ${[message, ...texts].join(" ")}\n`);
    };
  return {
    error: write("error"),
    warn: write("warn"),
    info: write("info"),
    debug: write("debug"),
    with: (more) => plainLog(level, clock, { ...fields, ...more }),
  };
}

/** Anything but plain words as JSON, on one line. An error with its stack. */
function textOf(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.stack ?? value.message);
  return typeof value === "string" && /^[\w./:@-]+$/.test(value) ? value : (JSON.stringify(value) ?? "undefined");
}
