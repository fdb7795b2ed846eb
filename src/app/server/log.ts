import pino from "pino";
import type { LogFields, Logger } from "#lib/base/index.ts";
import type { LogLevel } from "./plain-log.ts";

/** JSON lines on stderr: what operators and their collectors read. Errors keep their stacks, objects are named by kind and name. */
export function serverLog(
  level: LogLevel,
  to: pino.DestinationStream = pino.destination({ fd: 2, sync: true }),
): Logger {
  return wrap(
    pino(
      {
        level,
        base: null,
        formatters: { level: (label) => ({ level: label }) },
        // Of itself pino knows an error only under the name `err`; any other is written as the object it is not.
        serializers: { error: pino.stdSerializers.errWithCause },
      },
      to,
    ),
  );
}

const wrap = (log: pino.Logger): Logger => {
  const write =
    (level: "error" | "warn" | "info" | "debug") =>
    (message: string, fields: LogFields = {}): void =>
      log[level](fields, message);
  return {
    error: write("error"),
    warn: write("warn"),
    info: write("info"),
    debug: write("debug"),
    with: (fields) => wrap(log.child(fields)),
  };
};
