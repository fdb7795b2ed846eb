import type { Changes } from "./changes.ts";
import { LogCursor } from "./log-cursor.ts";
import type { LogBatch } from "./log-line.ts";
import type { StepLog } from "./step-log.ts";

/** What can be followed: the logs of a build while it runs and afterwards. */
export interface FollowedLogs {
  readonly logs: readonly StepLog[];
  readonly changes: Changes;
  /** Nothing is added to any log any more. */
  readonly frozen: boolean;
}

export interface LogFollowing {
  /** All of them when absent or empty. Those that do not exist are passed over. */
  readonly stepIds?: readonly number[];
  /** By step: the last line that is known already. */
  readonly after?: ReadonlyMap<number, number>;
  /** False: ends with what is there when it begins. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** What one step gives before it is the next one's turn. */
const turnBytes = 64 * 1024;

/**
 * The lines of a build from its beginning, or from where the caller was, then those that come; ends when the build's results are
 * frozen and all was given. Of each step every line once, ascending by one; steps take turns of 64 KiB. Nothing is read ahead: a
 * caller who does not ask costs nothing and holds up nobody. Rejects with the signal's reason, or with `results-closed` when it
 * was cut off before the end.
 *
 *     for await (const batch of followLogs(results, { after: new Map([[1, 120]]) }))
 *       for (const { id, time, message } of linesOf(batch)) …
 */
export async function* followLogs(source: FollowedLogs, following: LogFollowing = {}): AsyncGenerator<LogBatch, void> {
  const { stepIds = [], after, follow = true, signal } = following;
  const cursors = source.logs
    .filter(({ stepId }) => stepIds.length === 0 || stepIds.includes(stepId))
    .map((log) => new LogCursor(log, after?.get(log.stepId), follow ? undefined : log.bytes));
  try {
    for (;;) {
      // Noted before looking: what comes while the steps have their turns is not missed.
      const [{ version }, isLast] = [source.changes, source.frozen || !follow];
      let gave = false;
      for (const cursor of cursors) {
        source.changes.check(signal);
        const batch = await cursor.next(turnBytes);
        if (batch === undefined) continue;
        gave = true;
        yield batch;
      }
      if (gave) continue;
      if (isLast) return;
      await source.changes.after(version, signal);
    }
  } finally {
    await Promise.allSettled(cursors.map((cursor) => cursor.close()));
  }
}
