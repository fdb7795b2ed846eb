import { type LogFields, type Logger, messageOf } from "#lib/base/index.ts";

/** How much a build tells of itself, least last. */
export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * What operators of a server would read in its log, for the person who has started a build: one line each, as everything else on stderr. `info` is usual; with
 * `debug` values are told beside the message, and below it they are left out, because they are rarely what a person asks for.
 */
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

/** ` a=1 b="two words"`. */
const told = (fields: LogFields): string =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${wordOf(value)}`)
    .join("");

function wordOf(value: unknown): string {
  const text = value instanceof Error ? messageOf(value) : typeof value === "string" ? value : JSON.stringify(value);
  return /^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text);
}
