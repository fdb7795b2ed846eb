import { copyFileSync, fstatSync, ftruncateSync, lstatSync } from "node:fs";
import pino from "pino";
import type { LogFields, Logger } from "#lib/base/index.ts";
import type { LogLevel } from "./plain-log.ts";

/** JSON lines on stderr. Errors keep their stacks. */
export function serverLog(level: LogLevel, to: pino.DestinationStream = stderrLines()): Logger {
  return wrap(
    pino(
      {
        level,
        base: null,
        formatters: { level: (label) => ({ level: label }) },
        // Under another name than `err` pino would write an error as a plain object.
        serializers: { error: pino.stdSerializers.errWithCause },
      },
      to,
    ),
  );
}

const mostInFile = 16 * 1024 * 1024;

/** A server's log. If stderr is the file at `path` and large, it is copied to `<path>.1` and truncated. */
export function backgroundLines(path: string, fd = 2, most = mostInFile): pino.DestinationStream {
  const lines = stderrLines(fd);
  let size = sizeOf(path, fd);
  return {
    write(line) {
      const added = Buffer.byteLength(line);
      size += added;
      if (size > most) size = beginAnew(path, fd) + added;
      lines.write(line);
    },
  };
}

/** Never above the limit if the descriptor is not that file. */
function sizeOf(path: string, fd: number): number {
  const [open, named] = [fstatSync(fd), lstatSync(path, { throwIfNoEntry: false })];
  return open.isFile() && named?.ino === open.ino && named.dev === open.dev ? open.size : -Infinity;
}

/** Truncated, not replaced: other processes have it open for appending. On a full disk there is no copy. */
function beginAnew(path: string, fd: number): number {
  try {
    copyFileSync(path, `${path}.1`);
  } catch {}
  try {
    ftruncateSync(fd, 0);
    return 0;
  } catch {
    return -Infinity;
  }
}

/** How much waits in memory while the log cannot be written. The rest is dropped. */
const mostWaiting = 1024 * 1024;

/** A failing log must not end the server. Each new line retries the waiting ones. */
function stderrLines(fd = 2): pino.DestinationStream {
  const lines = pino.destination({ fd, sync: true, maxLength: mostWaiting });
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
