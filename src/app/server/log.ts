import { copyFileSync, fstatSync, ftruncateSync, lstatSync } from "node:fs";
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

/** How large the file of a server in the background becomes before it begins anew. */
const mostInFile = 16 * 1024 * 1024;

/**
 * The log of a server whose stderr may be the file at `path`, as in the background: one that has become large is copied to `<path>.1`, in the place of
 * the older one, and begins anew. Anything else that stderr is stays as it is.
 */
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

/** Size of the file; never above the limit where the descriptor is not that file. */
function sizeOf(path: string, fd: number): number {
  const [open, named] = [fstatSync(fd), lstatSync(path, { throwIfNoEntry: false })];
  return open.isFile() && named?.ino === open.ino && named.dev === open.dev ? open.size : -Infinity;
}

/** The file is open for appending, also in other processes: it is emptied and not replaced. On a full disk there is no copy. */
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

/** How much of the log waits in memory while it cannot be written, as on a full disk. The rest is dropped. */
const mostWaiting = 1024 * 1024;

/** A log that cannot be written must not end the server it is about. Each new line tries to write those that wait. */
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
