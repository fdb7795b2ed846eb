import type { BuildLog } from "./build-log.ts";
import type { FilePool } from "./file-pool.ts";
import { type LogPage, type Place, placeAfter, readPage } from "./read-page.ts";

/** Pages that were read last. Followers who are at the same place share one reading, and whatever is made of it. */
const mostPages = 8;

/** Reads the log of one build for all of its readers. */
export class PageReader {
  readonly #build: BuildLog;
  readonly #pool: FilePool;
  /** By the line before them. What can be read never changes, so a page stays true until lines are cut off. */
  readonly #pages = new Map<number, Promise<LogPage | undefined>>();
  #generation = 0;

  constructor(build: BuildLog, pool: FilePool) {
    this.#build = build;
    this.#pool = pool;
  }

  /** As `readPage`. */
  read(place: Place): Promise<LogPage | undefined> {
    if (this.#build.readable <= place.after) return Promise.resolve(undefined);
    if (this.#generation !== this.#build.generation) this.#pages.clear();
    this.#generation = this.#build.generation;
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
  /** The last line that is known already; absent: what comes from now on. */
  readonly after?: number | undefined;
  /** Aborted when the reader goes away. */
  readonly signal?: AbortSignal;
  /** Aborted when nothing more will come: what is there is given, then it ends. Absent: it ends with what is there now. */
  readonly until?: AbortSignal;
}

/**
 * The lines of a build behind one of them, then those that come; each once, ascending by logId, by one way of reading. Nothing is
 * read ahead and nothing queued: who does not ask costs nothing. An `after` beyond the end means the end: numbers that a power cut took are
 * given again. Rejects with the signal's reason, and with `log-removed` or `log-closed` when it is cut off.
 */
export async function* followBuild(
  build: BuildLog,
  reader: PageReader,
  { after = build.accepted, signal, until }: BuildFollowing,
): AsyncGenerator<LogPage, void> {
  const wake = (): void => build.changes.tell();
  until?.addEventListener("abort", wake, { once: true });
  const end = build.accepted;
  try {
    for (let place = placeAfter(build, Math.min(after, end)); ; ) {
      build.changes.check(signal);
      const [{ version }, isLast] = [build.changes, until?.aborted ?? place.after >= end];
      // What was accepted before the end was told belongs to it.
      if (isLast && until !== undefined) await build.written();
      const page = await reader.read(place);
      if (page !== undefined) {
        place = page.next;
        if (page.lines.length > 0) yield page;
      } else if (isLast) return;
      else await build.changes.after(version, signal);
    }
  } finally {
    until?.removeEventListener("abort", wake);
  }
}
