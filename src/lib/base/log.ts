/** Values that go beside a log message; never secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where operators read what happened. Messages are constant lower-case texts, values go into fields.
 * Libraries receive a Logger, they never make one.
 */
export interface Logger {
  /** A person must act. */
  error(message: string, fields?: LogFields): void;
  /** Degraded, but works. */
  warn(message: string, fields?: LogFields): void;
  /** The product changed its state. */
  info(message: string, fields?: LogFields): void;
  /** Everything else. Off unless asked for, so that building its fields must be cheap. */
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
