import { type Clock, formatInstant, type LogFields, type Logger } from "#lib/base/index.ts";

/** How much of what happens is written down. */
export type LogLevel = "error" | "warn" | "info" | "debug";

const levels: readonly LogLevel[] = ["error", "warn", "info", "debug"];

/**
 * One readable line per entry on stderr, for people at a terminal: time, level, message, then fields as `name=value`.
 * Entries below `level` cost a comparison. `fields` are put on every line.
 */
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

/**
 * Plain words as they are, everything else as JSON, so that a value with blanks or line ends stays one value on one
 * line. An error with its stack.
 */
function textOf(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.stack ?? value.message);
  return typeof value === "string" && /^[\w./:@-]+$/.test(value) ? value : (JSON.stringify(value) ?? "undefined");
}
