import { dirname } from "node:path";
import { isJsonObject } from "#lib/base/index.ts";
import { makeDirectories, readTextIfPresent, replaceFile } from "#lib/base/index.node.ts";

/** What is durable of a log that arrives in numbered chunks. Lies beside the log; always a whole one, old or new. */
export interface ReceivedState {
  /** Whose numbers these are: a sender that has lost its own begins anew from 1, under another name. */
  readonly source: string;
  /** The highest number up to which nothing is missing. */
  readonly seq: number;
  /** The file that was being written, by device and inode; empty before the first. */
  readonly file: string;
  /** Bytes of that file that belong to the chunks up to `seq`. What lies behind was written and never acknowledged. */
  readonly size: number;
  /** Nothing more is expected. */
  readonly isEnded: boolean;
}

export const nothingReceived: ReceivedState = { source: "", seq: 0, file: "", size: 0, isEnded: false };

/** Name of the state of a log. */
export const stateOf = (path: string): string => `${path}.received`;

/** Undefined when nothing of the log has been made durable. Rejects for a file that is none of ours. */
export async function readReceived(path: string): Promise<ReceivedState | undefined> {
  const text = await readTextIfPresent(stateOf(path));
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value) || typeof value["seq"] !== "number") throw new Error(`${stateOf(path)} is damaged`);
  return { ...nothingReceived, ...value };
}

/** Resolves when no crash can undo it. One at a time. Missing directories are made. */
export async function writeReceived(path: string, state: ReceivedState): Promise<void> {
  await makeDirectories(dirname(path), 0o750);
  await replaceFile(stateOf(path), JSON.stringify(state), { mode: 0o640 });
}
