/** Values that go beside a log message; never secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where operators read what happened. Messages are constant lower-case texts, values go into fields.
 * Libraries receive a Logger, they never make one.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every entry. */
  with(fields: LogFields): Logger;
}

/** A logger that drops everything. */
export const silentLog: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  with: () => silentLog,
};
