import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { RunPhase } from "#engine/index.ts";
import type { RunGap, RunPage, RunsBookmark, RunSummary, StreamLine } from "#app/ui/wire.ts";
import { requestJson } from "./api.ts";
import { queryOf, type RunFilter } from "./filter.ts";
import { inFrame } from "./frame.ts";
import { keyOf, textOfKey } from "./refs.ts";
import { noteSignedOut, stream } from "./server.ts";
import { serverNow } from "./time.ts";
import type { StreamHandle } from "./stream.ts";

export type Load = { readonly is: "loading" | "ready" } | { readonly is: "failed"; readonly thrown: unknown };
export type Counts = Readonly<Partial<Record<RunPhase, number>>>;

/** What fills a screen, then pages for a reader who scrolls; a list that is there is renewed up to `mostAtOnce`. */
const [firstPage, pageSize, mostAtOnce] = [100, 500, 1000];
/** Longer lists are cut: the filter finds the rest. */
const mostRows = 20_000;

export const keyText = (run: RunSummary): string => textOfKey(keyOf(run));

/**
 * The runs that a filter leaves, in the order of `sort`, live. Runs that appear later are held back in `fresh` until
 * `showFresh`, so that no row moves under the reader; rows that are there change in place.
 */
export class RunList {
  readonly #query: Readonly<Record<string, string>>;
  /** Not the newest first: where a run belongs only the server knows. */
  readonly #isSorted: boolean;
  readonly #rows = new Map<string, Signal<RunSummary>>();
  readonly order = signal<readonly string[]>([]);
  readonly fresh = signal<readonly string[]>([]);
  readonly load = signal<Load>({ is: "loading" });
  readonly counts = signal<Counts>({});
  readonly total = signal(0);
  readonly gaps = signal<readonly RunGap[]>([]);
  readonly #abort = new AbortController();
  #continue: string | undefined;
  #isLoadingMore = false;
  #handle: StreamHandle | undefined;

  constructor(filter: RunFilter, sort: string) {
    this.#isSorted = sort !== "";
    // Once: a list that is continued begins where it began.
    this.#query = { ...queryOf(filter, serverNow()), ...(sort === "" ? {} : { sort }) };
  }

  row(key: string): ReadonlySignal<RunSummary> | undefined {
    return this.#rows.get(key);
  }

  /** Lists and follows until `close`. Called again it lists again, as after a failure. */
  async open(): Promise<void> {
    try {
      const page = await this.#get(undefined, Math.min(mostAtOnce, Math.max(firstPage, this.order.peek().length)));
      batch(() => this.#replace(page));
      if (this.#handle !== undefined) return this.#handle.resume(page.resourceVersion);
      const params = this.#query;
      this.#handle = stream.subscribe({ what: "runs", params, resourceVersion: page.resourceVersion }, (line) =>
        inFrame(() => this.#take(line)),
      );
    } catch (thrown) {
      if (this.#abort.signal.aborted) return;
      noteSignedOut(thrown);
      // A list that is on the screen stays readable.
      if (this.load.peek().is !== "ready") this.load.value = { is: "failed", thrown };
    }
  }

  close(): void {
    this.#abort.abort();
    this.#handle?.close();
  }

  showFresh(): void {
    if (this.#isSorted) return void this.open();
    batch(() => {
      this.order.value = [...this.fresh.peek().filter((key) => this.#rows.has(key)), ...this.order.peek()];
      this.fresh.value = [];
    });
  }

  /** The next page, for a reader who is near the end. */
  async more(): Promise<void> {
    if (this.#continue === undefined || this.#isLoadingMore || this.order.peek().length >= mostRows) return;
    this.#isLoadingMore = true;
    try {
      const page = await this.#get(this.#continue, pageSize);
      batch(() => {
        const added = page.items.map((run) => this.#put(run)).filter((key) => key !== undefined);
        this.order.value = [...this.order.peek(), ...added];
        this.#setPage(page);
      });
    } catch {
      // The reader scrolls on and asks again.
    } finally {
      this.#isLoadingMore = false;
    }
  }

  #get(continued: string | undefined, limit: number): Promise<RunPage> {
    const query = { ...this.#query, limit: String(limit), continue: continued };
    return requestJson<RunPage>("GET", "/runs", { query, signal: this.#abort.signal });
  }

  #setPage(page: RunPage): void {
    this.#continue = page.continue;
    this.gaps.value = page.gaps ?? [];
    this.counts.value = page.counts;
    this.total.value = page.total;
  }

  /** The key if it is a new row. */
  #put(run: RunSummary): string | undefined {
    const key = keyText(run);
    const row = this.#rows.get(key);
    if (row === undefined) this.#rows.set(key, signal(run));
    else if (JSON.stringify(row.peek()) !== JSON.stringify(run)) row.value = run;
    return row === undefined ? key : undefined;
  }

  /** A list that is there takes over what is different, without flicker. */
  #replace(page: RunPage): void {
    const isFirst = this.load.peek().is !== "ready";
    const present = new Set(page.items.map(keyText));
    const oldest = page.continue === undefined ? 0 : (page.items.at(-1)?.createdAt ?? 0);
    for (const [key, row] of this.#rows)
      if (!present.has(key) && (this.#isSorted || row.peek().createdAt >= oldest)) this.#rows.delete(key);
    const added = page.items.map((run) => this.#put(run)).filter((key) => key !== undefined);
    const kept = this.order.peek().filter((key) => this.#rows.has(key));
    if (isFirst || kept.length === 0 || this.#isSorted) {
      this.order.value = page.items.map(keyText);
      this.fresh.value = [];
    } else {
      this.order.value = kept;
      this.fresh.value = [...added, ...this.fresh.peek()].filter((key) => this.#rows.has(key));
    }
    this.#setPage(page);
    this.load.value = { is: "ready" };
  }

  #take({ type, object }: StreamLine): void {
    switch (type) {
      case "ADDED":
      case "MODIFIED":
        return this.#show(object as RunSummary);
      case "DELETED":
        return this.#remove(object as RunSummary);
      case "BOOKMARK": {
        const now = object as RunsBookmark | undefined;
        if (now?.counts === undefined) return;
        this.counts.value = now.counts;
        this.total.value = now.total;
        return;
      }
      case "GONE":
      case "END":
        void this.open();
        return;
      case "ERROR":
      case "HELLO":
        return;
    }
  }

  #show(run: RunSummary): void {
    const before = this.#rows.get(keyText(run))?.peek();
    const key = this.#put(run);
    this.#count(before, run);
    if (key === undefined) return;
    if (this.order.peek().length === 0) this.order.value = [key];
    else this.fresh.value = [key, ...this.fresh.peek()];
  }

  #remove(run: RunSummary): void {
    const key = keyText(run);
    const before = this.#rows.get(key)?.peek();
    if (before === undefined || !this.#rows.delete(key)) return;
    this.#count(before, undefined);
    this.order.value = this.order.peek().filter((one) => one !== key);
    this.fresh.value = this.fresh.peek().filter((one) => one !== key);
  }

  /** Between bookmarks the numbers follow what is seen. */
  #count(before: RunSummary | undefined, after: RunSummary | undefined): void {
    if (before?.phase === after?.phase) return;
    const counts: Partial<Record<RunPhase, number>> = { ...this.counts.peek() };
    if (before !== undefined) counts[before.phase] = Math.max(0, (counts[before.phase] ?? 0) - 1);
    if (after !== undefined) counts[after.phase] = (counts[after.phase] ?? 0) + 1;
    this.counts.value = counts;
    this.total.value += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
  }
}
