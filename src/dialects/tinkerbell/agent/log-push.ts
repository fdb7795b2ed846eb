import { randomUUID } from "node:crypto";
import { isJsonObject } from "#lib/base/index.ts";
import { readTextIfPresent, replaceFile } from "#lib/base/index.node.ts";
import { type FeedPlace, feedStart } from "#kernel/streams/index.ts";

// How far an action's log was sent, in a file beside it. The place is noted before a batch is sent; after a crash the
// server says how much arrived, so nothing is sent twice or left out.

export interface LogPush {
  readonly workflow: string;
  readonly action: string;
  /** Owner of the numbers; replaced if a server knows less than it acknowledged. */
  readonly source: string;
  /** The last acknowledged chunk and the place after it. */
  readonly seq: number;
  readonly place: FeedPlace;
  /** Places after the following chunks, which may have arrived. */
  readonly underWay: readonly FeedPlace[];
  /** The end was acknowledged, or the server refuses the log. */
  readonly isDone: boolean;
}

export const newPush = (workflow: string, action: string): LogPush => ({
  workflow,
  action,
  source: randomUUID(),
  seq: 0,
  place: feedStart,
  underWay: [],
  isDone: false,
});

/** The server acknowledged `seq` while more is being sent. A lower number changes nothing. */
export function advancePush(push: LogPush, seq: number): LogPush {
  const arrived = Math.max(0, Math.min(seq - push.seq, push.underWay.length));
  const place = push.underWay[arrived - 1] ?? push.place;
  return { ...push, seq: push.seq + arrived, place, underWay: push.underWay.slice(arrived) };
}

/** The server acknowledged `seq` and nothing is being sent. If it lost chunks, the rest goes under a new source. */
export function settlePush(push: LogPush, seq: number): LogPush {
  if (seq < push.seq) return { ...newPush(push.workflow, push.action) };
  return { ...advancePush(push, seq), underWay: [] };
}

export const pushFileOf = (path: string): string => `${path}.push`;

/** Undefined if nothing was sent, or a power cut damaged the file: then a new source is used. */
export async function readPush(file: string): Promise<LogPush | undefined> {
  const text = await readTextIfPresent(file);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && isJsonObject(value["place"]) ? (value as unknown as LogPush) : undefined;
  } catch {
    return undefined;
  }
}

/** Atomic but not flushed, like the log. */
export const writePush = (file: string, push: LogPush): Promise<void> =>
  replaceFile(file, JSON.stringify(push), { isDurable: false });
