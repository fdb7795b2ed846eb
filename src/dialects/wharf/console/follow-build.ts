// The console is a follower like any other: what it shows is what is stored, masked, numbered and in order, and it can be as slow as it likes.

import { type Artifact, isFinal, type StatusUpdate } from "../results/build-document.ts";
import { LogCursor } from "../results/log-cursor.ts";
import type { LogBatch } from "../results/log-line.ts";
import type { Results, StepResults } from "../results/results.ts";

/** Something that people are told of a build. */
export type BuildEvent =
  | { readonly type: "status"; readonly stepId: number; readonly update: StatusUpdate }
  | { readonly type: "artifact"; readonly stepId: number; readonly artifact: Artifact }
  | { readonly type: "log"; readonly stepId: number; readonly batch: LogBatch };

/** What one step gives before it is the next one's turn. */
const turnBytes = 64 * 1024;

/**
 * Everything of a build as it comes, until its results are frozen: of each step in the order in which it happened, its end behind its last line. As
 * `followLogs` it reads nothing ahead and holds up nobody.
 */
export async function* followBuild(results: Results): AsyncGenerator<BuildEvent, void> {
  const places = results.steps.map((step) => ({ step, cursor: new LogCursor(step.log), updates: 0, artifacts: 0 }));
  try {
    for (;;) {
      const [{ version }, isLast] = [results.changes, results.frozen];
      let gave = false;
      for (const place of places) {
        // Noted before the log is read: a step that had ended then has no line but those that are read now.
        const { updates, artifacts } = place.step;
        for (const update of updates.slice(place.updates).filter(({ status }) => !isFinal(status))) {
          yield { type: "status", stepId: place.step.stepId, update };
          place.updates += 1;
          gave = true;
        }
        // A status is told when it is written down, which output may be faster than.
        const hasBegun = updates.some(({ status }) => status === "Running" || isFinal(status));
        const batch = hasBegun ? await place.cursor.next(turnBytes) : undefined;
        if (batch !== undefined) {
          yield { type: "log", stepId: place.step.stepId, batch };
          gave = true;
          continue;
        }
        for (const artifact of artifacts.slice(place.artifacts)) {
          yield { type: "artifact", stepId: place.step.stepId, artifact };
          place.artifacts += 1;
          gave = true;
        }
        for (const update of updates.slice(place.updates)) {
          yield { type: "status", stepId: place.step.stepId, update };
          place.updates += 1;
          gave = true;
        }
      }
      if (gave) continue;
      if (isLast) return;
      await results.changes.after(version);
    }
  } finally {
    await Promise.allSettled(places.map(({ cursor }) => cursor.close()));
  }
}

/** The last lines of a step's log. */
export async function lastLines({ log }: StepResults, count: number): Promise<readonly LogBatch[]> {
  const cursor = new LogCursor(log, Math.max(0, log.lines - count));
  const batches: LogBatch[] = [];
  try {
    for (let batch = await cursor.next(turnBytes); batch !== undefined; batch = await cursor.next(turnBytes))
      batches.push(batch);
  } finally {
    await cursor.close();
  }
  return batches;
}
