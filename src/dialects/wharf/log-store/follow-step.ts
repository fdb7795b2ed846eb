import type { BuildLog } from "./build-log.ts";
import type { FilePool } from "./file-pool.ts";
import type { StoredLine } from "./record.ts";
import { viewStep } from "./step-view.ts";

export interface StepFollowing {
  /** workerLogId of the last known line. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Aborted when no more lines will come. */
  readonly until: AbortSignal;
}

/**
 * Past and future lines of a step in order of workerLogId: a line waits for those before it until the end. Unnumbered
 * lines are left out. Rejects with the signal's reason, `log-removed` or `log-closed`.
 */
export async function* followStep(
  build: BuildLog,
  stepId: number,
  pool: FilePool,
  { after = 0, signal, until }: StepFollowing,
): AsyncGenerator<readonly StoredLine[], void> {
  const wake = (): void => build.changes.tell();
  until.addEventListener("abort", wake, { once: true });
  try {
    for (let known = after; ; ) {
      build.changes.check(signal);
      const [{ version }, isLast] = [build.changes, until.aborted];
      // Lines accepted before the end belong to it.
      if (isLast) await build.written();
      for await (const page of viewStep(build, stepId, pool, known)) {
        const lines = isLast ? page : withoutGap(page, known);
        known = lines.at(-1)?.workerLogId ?? known;
        if (lines.length > 0) yield lines;
        if (lines.length < page.length) break;
      }
      if (isLast) return;
      await build.changes.after(version, signal);
    }
  } finally {
    until.removeEventListener("abort", wake);
  }
}

function withoutGap(page: readonly StoredLine[], known: number): readonly StoredLine[] {
  const gap = page.findIndex(({ workerLogId }, at) => workerLogId !== known + at + 1);
  return gap < 0 ? page : page.slice(0, gap);
}
