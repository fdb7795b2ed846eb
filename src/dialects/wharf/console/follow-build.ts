// Shows what is stored: masked, numbered and in order.

import { type Artifact, isFinal, type StatusUpdate } from "../results/build-document.ts";
import { LogCursor } from "../results/log-cursor.ts";
import type { LogBatch } from "../results/log-line.ts";
import type { Results, StepResults } from "../results/results.ts";

export type BuildEvent =
  | { readonly type: "status"; readonly stepId: number; readonly update: StatusUpdate }
  | { readonly type: "artifact"; readonly stepId: number; readonly artifact: Artifact }
  | { readonly type: "log"; readonly stepId: number; readonly batch: LogBatch };

const turnBytes = 64 * 1024;

/** All events of a build until its results are frozen, in order per step, its end behind its last line. Nothing is read
 * ahead. */
export async function* followBuild(results: Results): AsyncGenerator<BuildEvent, void> {
  const places = results.steps.map((step) => ({ step, cursor: new LogCursor(step.log), updates: 0, artifacts: 0 }));
  try {
    for (;;) {
      const [{ version }, isLast] = [results.changes, results.frozen];
      let gave = false;
      for (const place of places) {
        // Read before the log, so that the end comes behind the last line.
        const { updates, artifacts } = place.step;
        for (const update of updates.slice(place.updates).filter(({ status }) => !isFinal(status))) {
          yield { type: "status", stepId: place.step.stepId, update };
          place.updates += 1;
          gave = true;
        }
        // Output may precede the Running status.
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
