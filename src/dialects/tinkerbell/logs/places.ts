import { join } from "node:path";
import { fileName, type Rotation } from "#kernel/streams/index.ts";

// Logs of actions on agents and servers: `<workflow uid>/<action id>.log`.

const mebibyte = 1024 * 1024;

/** Keeps the last 10 to 12 MiB of an action's output; a line says how much is missing. */
export const logRotation: Rotation = { maxBytes: 2 * mebibyte, maxFiles: 6, marksLoss: true };

export const logsIn = (directory: string): string => join(directory, "logs");

export const logFolder = (directory: string, uid: string): string => join(directory, fileName(uid));

export const logPath = (directory: string, uid: string, action: string): string =>
  join(logFolder(directory, uid), `${fileName(action)}.log`);
