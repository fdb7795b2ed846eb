/** Never secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Messages are constant lower-case texts, values go into fields. Libraries receive a Logger and never make one. */
export interface Logger {
  /** A person must act. */
  error(message: string, fields?: LogFields): void;
  /** Degraded but working. */
  warn(message: string, fields?: LogFields): void;
  /** The product changed its state. */
  info(message: string, fields?: LogFields): void;
  /** Off by default, so building fields must be cheap. */
  debug(message: string, fields?: LogFields): void;
  with(fields: LogFields): Logger;
}

export const silentLog: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  with: () => silentLog,
};
