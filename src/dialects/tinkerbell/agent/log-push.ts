import { randomUUID } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { codeOf, isJsonObject } from "#lib/base/index.ts";
import { type FeedPlace, feedStart } from "#kernel/logs/index.ts";

// How far the log of an action was sent, beside the log. What is about to be sent is noted before it is: after a crash the server is asked how
// much of it has arrived, and sending goes on right behind that. Nothing is sent twice, and nothing is left out.

/** How far a log was sent. Plain data. */
export interface LogPush {
  readonly workflow: string;
  readonly action: string;
  /** Whose numbers these are: another one when a server knows less than it has acknowledged. */
  readonly source: string;
  /** Of the last chunk that was acknowledged, and the place behind it. */
  readonly seq: number;
  readonly place: FeedPlace;
  /** Places behind the chunks that follow it, which may have arrived. */
  readonly underWay: readonly FeedPlace[];
  /** All of it, and that it is all, was acknowledged; or the server does not want it. */
  readonly isDone: boolean;
}

/** Of a log of which nothing was sent. */
export const newPush = (workflow: string, action: string): LogPush => ({
  workflow,
  action,
  source: randomUUID(),
  seq: 0,
  place: feedStart,
  underWay: [],
  isDone: false,
});

/** After a server has said how much it has, while it is still being sent what follows. Less than it has said before changes nothing. */
export function advancePush(push: LogPush, seq: number): LogPush {
  const arrived = Math.max(0, Math.min(seq - push.seq, push.underWay.length));
  const place = push.underWay[arrived - 1] ?? push.place;
  return { ...push, seq: push.seq + arrived, place, underWay: push.underWay.slice(arrived) };
}

/**
 * After a server has said how much it has, and nothing is under way any more. One that has less than it has acknowledged gets all that is left
 * here, under another name.
 */
export function settlePush(push: LogPush, seq: number): LogPush {
  if (seq < push.seq) return { ...newPush(push.workflow, push.action) };
  return { ...advancePush(push, seq), underWay: [] };
}

/** Beside the log. */
export const pushFileOf = (path: string): string => `${path}.push`;

/** Undefined for a log that was not sent yet, and for a file that a power cut has damaged: then it is sent under another name. */
export async function readPush(file: string): Promise<LogPush | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isJsonObject(value) && isJsonObject(value["place"]) ? (value as unknown as LogPush) : undefined;
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** Whole, old or new, after the end of this process. It is not flushed, as the log is not. */
export async function writePush(file: string, push: LogPush): Promise<void> {
  const handle = await open(`${file}.next`, "w", 0o600);
  try {
    await handle.writeFile(JSON.stringify(push));
  } finally {
    await handle.close();
  }
  await rename(`${file}.next`, file);
}
