import type { BuildLog } from "./build-log.ts";
import type { FilePool } from "./file-pool.ts";
import type { StoredLine } from "./record.ts";
import { viewStep } from "./step-view.ts";

/** What is followed of a step. */
export interface StepFollowing {
  /** The workerLogId of the last line that is known already; 0 for none. */
  readonly after?: number | undefined;
  /** Aborted when the reader goes away. */
  readonly signal?: AbortSignal | undefined;
  /** Aborted when nothing more will come: what is there is given, then it ends. */
  readonly until: AbortSignal;
}

/**
 * The lines of one step behind one of them, then those that come, ascending by workerLogId whatever order they arrive in: a line waits for those before it,
 * at the latest until the end. Lines without a number are left out. Rejects with the signal's reason, and with `log-removed` or `log-closed` when it is cut off.
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
      // What was accepted before the end was told belongs to it.
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

/** The beginning of a page in which each line follows the one before. */
function withoutGap(page: readonly StoredLine[], known: number): readonly StoredLine[] {
  const gap = page.findIndex(({ workerLogId }, at) => workerLogId !== known + at + 1);
  return gap < 0 ? page : page.slice(0, gap);
}
