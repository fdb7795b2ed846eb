import { join } from "node:path";
import { hashName } from "#lib/base/index.node.ts";
import type { Rotation } from "#kernel/logs/index.ts";

// Where logs of actions lie, on agents and on the server alike: `<workflow uid>/<action id>.log`.

const mebibyte = 1024 * 1024;

/** The last 10 MiB of an action's output are kept, and up to 2 more; a line says how much came before. */
export const logRotation: Rotation = { maxBytes: 2 * mebibyte, maxFiles: 6, marksLoss: true };

/** All logs, among what an agent or a server keeps. */
export const logsIn = (directory: string): string => join(directory, "logs");

/** All logs of a workflow. */
export const logFolder = (directory: string, uid: string): string => join(directory, fileName(uid));

export const logPath = (directory: string, uid: string, action: string): string =>
  join(logFolder(directory, uid), `${fileName(action)}.log`);

const longest = 100;

/** The text itself where it can be a file's name, else something like it that no other text becomes. Ids come from somebody else. */
export function fileName(text: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(text) && text.length <= longest) return text;
  return `${text.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, longest)}-${hashName([text], 8)}`;
}
