import { type LogFields, type Logger, messageOf } from "#lib/base/index.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export function consoleLog(level: LogLevel, write: (text: string) => void): Logger {
  const least = logLevels.indexOf(level);
  const at =
    (own: LogLevel, more: LogFields) =>
    (message: string, fields: LogFields = {}): void => {
      if (logLevels.indexOf(own) >= least)
        write(`slipway: ${message}${level === "debug" ? told({ ...more, ...fields }) : ""}\n`);
    };
  const withFields = (more: LogFields): Logger => ({
    debug: at("debug", more),
    info: at("info", more),
    warn: at("warn", more),
    error: at("error", more),
    with: (fields) => withFields({ ...more, ...fields }),
  });
  return withFields({});
}

const told = (fields: LogFields): string =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${wordOf(value)}`)
    .join("");

function wordOf(value: unknown): string {
  const text = value instanceof Error ? messageOf(value) : typeof value === "string" ? value : JSON.stringify(value);
  return /^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text);
}
