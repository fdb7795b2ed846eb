import pino from "pino";
import type { LogFields, Logger } from "#lib/base/index.ts";
import type { LogLevel } from "./plain-log.ts";

/** JSON lines on stderr: what operators and their collectors read. Errors keep their stacks, objects are named by kind and name. */
export function serverLog(level: LogLevel, to: pino.DestinationStream = stderrLines()): Logger {
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

/** How much of the log waits in memory while it cannot be written, as on a full disk. The rest is dropped. */
const mostWaiting = 1024 * 1024;

/** A log that cannot be written must not end the server it is about. Each new line tries to write those that wait. */
function stderrLines(): pino.DestinationStream {
  const lines = pino.destination({ fd: 2, sync: true, maxLength: mostWaiting });
  lines.on("error", () => undefined);
  return lines;
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
