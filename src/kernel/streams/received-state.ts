import { dirname } from "node:path";
import { isJsonObject } from "#lib/base/index.ts";
import { makeDirectories, readTextIfPresent, replaceFile } from "#lib/base/index.node.ts";

/** The durable state of a received log, in a file beside it. */
export interface ReceivedState {
  /** Whose numbers these are: a sender that lost its state starts from 1 under another name. */
  readonly source: string;
  /** The highest number without a gap. */
  readonly seq: number;
  /** The file being written, by device and inode; empty before the first. */
  readonly file: string;
  /** Bytes of that file up to `seq`. Later bytes were never acknowledged. */
  readonly size: number;
  /** The log is complete. */
  readonly isEnded: boolean;
}

export const nothingReceived: ReceivedState = { source: "", seq: 0, file: "", size: 0, isEnded: false };
export const stateOf = (path: string): string => `${path}.received`;

/** Undefined if nothing is durable. Rejects for a damaged file. */
export async function readReceived(path: string): Promise<ReceivedState | undefined> {
  const text = await readTextIfPresent(stateOf(path));
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value) || typeof value["seq"] !== "number") throw new Error(`${stateOf(path)} is damaged`);
  return { ...nothingReceived, ...value };
}

/** Resolves when the state is durable. One at a time. Creates missing directories. */
export async function writeReceived(path: string, state: ReceivedState): Promise<void> {
  await makeDirectories(dirname(path), 0o750);
  await replaceFile(stateOf(path), JSON.stringify(state), { mode: 0o640 });
}
