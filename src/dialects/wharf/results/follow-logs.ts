import type { Changes } from "./changes.ts";
import { LogCursor } from "./log-cursor.ts";
import type { LogBatch } from "./log-line.ts";
import type { StepLog } from "./step-log.ts";

export interface FollowedLogs {
  readonly logs: readonly StepLog[];
  readonly changes: Changes;
  readonly frozen: boolean;
}

export interface LogFollowing {
  readonly stepIds?: readonly number[];
  readonly after?: ReadonlyMap<number, number>;
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

const turnBytes = 64 * 1024;

/** Past and future lines of a build until its results are frozen: each line once, ascending per step; steps take turns.
 * Nothing is read ahead. Rejects with the signal's reason or `results-closed`. */
export async function* followLogs(source: FollowedLogs, following: LogFollowing = {}): AsyncGenerator<LogBatch, void> {
  const { stepIds = [], after, follow = true, signal } = following;
  const cursors = source.logs
    .filter(({ stepId }) => stepIds.length === 0 || stepIds.includes(stepId))
    .map((log) => new LogCursor(log, after?.get(log.stepId), follow ? undefined : log.bytes));
  try {
    for (;;) {
      // Read first, so that changes during the turns are not missed.
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
