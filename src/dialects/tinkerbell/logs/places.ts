import { join } from "node:path";
import { hashName } from "#lib/base/index.node.ts";
import type { Rotation } from "#kernel/logs/index.ts";

// Logs of actions on agents and servers: `<workflow uid>/<action id>.log`.

const mebibyte = 1024 * 1024;

/** Keeps the last 10 to 12 MiB of an action's output; a line says how much is missing. */
export const logRotation: Rotation = { maxBytes: 2 * mebibyte, maxFiles: 6, marksLoss: true };

export const logsIn = (directory: string): string => join(directory, "logs");

export const logFolder = (directory: string, uid: string): string => join(directory, fileName(uid));

export const logPath = (directory: string, uid: string, action: string): string =>
  join(logFolder(directory, uid), `${fileName(action)}.log`);

const longest = 100;

/** The text if it is a valid file name, else a unique substitute. Ids are foreign input. */
export function fileName(text: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(text) && text.length <= longest) return text;
  return `${text.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, longest)}-${hashName([text], 8)}`;
}
