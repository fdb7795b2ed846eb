import { onAbort } from "#lib/base/index.ts";
import type { BuildLog } from "./build-log.ts";
import type { FilePool } from "./file-pool.ts";
import type { StoredLine } from "./record.ts";
import { viewStep } from "./step-view.ts";
import { type LogPage, type Place, placeAfter, readPage } from "./read-page.ts";

const mostPages = 8;

export class PageReader {
  readonly #build: BuildLog;
  readonly #pool: FilePool;
  readonly #pages = new Map<number, Promise<LogPage | undefined>>();

  constructor(build: BuildLog, pool: FilePool) {
    this.#build = build;
    this.#pool = pool;
  }

  read(place: Place): Promise<LogPage | undefined> {
    if (this.#build.readable <= place.after) return Promise.resolve(undefined);
    const known = this.#pages.get(place.after);
    if (known !== undefined) return known;
    const page = readPage(this.#build, place, this.#pool);
    this.#pages.set(place.after, page);
    page.catch(() => this.#pages.delete(place.after));
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > mostPages && oldest !== undefined) this.#pages.delete(oldest);
    return page;
  }
}

export interface BuildFollowing {
  /** The last known line; absent: only future lines. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal;
  /** Aborted when no more lines will come. Absent: ends with the current lines. */
  readonly until?: AbortSignal;
}

/** Past and future lines of a build, each once, ascending by logId. Nothing is read ahead. An `after` beyond the end
 * means the end, because ids lost to power failure are reused. Rejects with the signal's reason, `log-lost`,
 * `log-removed` or `log-closed`. */
export async function* followBuild(
  build: BuildLog,
  reader: PageReader,
  { after = build.accepted, signal, until }: BuildFollowing,
): AsyncGenerator<LogPage, void> {
  const forget = onAbort(until, () => build.changes.tell());
  const end = build.accepted;
  try {
    for (let place = placeAfter(build, Math.min(after, end)); ; ) {
      build.changes.check(signal);
      const [{ version }, isLast] = [build.changes, until?.aborted ?? place.after >= end];
      if (isLast && until !== undefined) await build.written();
      const page = await reader.read(place);
      if (page !== undefined) {
        place = page.next;
        if (page.lines.length > 0) yield page;
      } else if (isLast) return;
      else await build.changes.after(version, signal);
    }
  } finally {
    forget();
  }
}

export interface StepFollowing {
  /** workerLogId of the last known line. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly until: AbortSignal;
}

/** Past and future lines of a step in order of workerLogId: a line waits for those before it until the end. Unnumbered
 * lines are left out. Rejects with the signal's reason, `log-lost`, `log-removed` or `log-closed`. */
export async function* followStep(
  build: BuildLog,
  stepId: number,
  pool: FilePool,
  { after = 0, signal, until }: StepFollowing,
): AsyncGenerator<readonly StoredLine[], void> {
  const forget = onAbort(until, () => build.changes.tell());
  try {
    for (let known = after; ; ) {
      build.changes.check(signal);
      const [{ version }, isLast] = [build.changes, until.aborted];
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
    forget();
  }
}

function withoutGap(page: readonly StoredLine[], known: number): readonly StoredLine[] {
  const gap = page.findIndex(({ workerLogId }, at) => workerLogId !== known + at + 1);
  return gap < 0 ? page : page.slice(0, gap);
}
