import { computed, effect, signal } from "@preact/signals";
import type { LogMatches, LogPage, StreamLine } from "#app/ui/wire.ts";
import { requestJson, send } from "../../data/api.ts";
import { inFrame } from "../../data/frame.ts";
import { logPath, type RunKey } from "../../data/refs.ts";
import { stream } from "../../data/server.ts";
import { clock } from "../../data/time.ts";
import { errorPattern, hiddenOf, type Section, sectionsOf } from "./log-marks.ts";
import { LogRows, spansAround, spansWithout } from "./log-rows.ts";
import { ErrorSearch, matchesOf } from "./log-search.ts";
import { LogStore } from "./log-store.ts";

export interface LogName {
  readonly run: RunKey;
  readonly step: string | undefined;
  readonly attempt: number | undefined;
}

/** A log that is read as a whole when it opens, and searched in the browser. The server searches larger ended ones. */
const longestOpened = 20_000;
/** A log that still grows, and is read as a whole when it is searched. */
const longestRead = 100_000;
const contextLines = 2;
/** Of one answer. */
const mostLines = 5000;
const typingMs = 80;

/** What one looks at of a log: its lines, what is folded, searched and selected. */
export class LogModel {
  readonly store: LogStore;
  readonly search = signal("");
  readonly matches = signal<LogMatches>({ count: 0, lines: [] });
  readonly isSearching = signal(false);
  readonly isFiltered = signal(false);
  readonly errors = signal<readonly number[]>([]);
  readonly errorPattern = signal("");
  /** Numbers, from 0, of the titles of folded sections. */
  readonly folded = signal<ReadonlySet<number>>(new Set());
  readonly sections = computed<readonly Section[]>(() => {
    void this.store.version.value;
    return sectionsOf(this.store.marks(), this.store.total.value);
  });
  readonly rows = computed(() => {
    const total = this.store.total.value;
    if (this.isFiltered.value && this.search.value !== "")
      return new LogRows(spansAround(this.matches.value.lines, contextLines, total));
    const folded = this.sections.value.filter(({ line }) => this.folded.value.has(line)).map(hiddenOf);
    return new LogRows(spansWithout(total, [{ first: 0, end: this.store.first.value }, ...folded]));
  });
  #errors: { readonly text: string; readonly search: ErrorSearch } | undefined;
  readonly #name: LogName;
  readonly #ends: (() => void)[] = [];
  #cancelTyping: () => void = () => undefined;
  #cancelErrors: () => void = () => undefined;

  constructor(name: LogName) {
    this.#name = name;
    this.store = new LogStore((from, count, signal) =>
      requestJson<LogPage>("GET", logPath(name.run), {
        query: { ...this.#query(), from: String(from), count: String(count) },
        signal,
      }),
    );
  }

  /** The bytes of the whole log. */
  async raw(): Promise<Blob> {
    return await (await send("GET", `${logPath(this.#name.run)}/raw`, { query: this.#query(), accept: "*/*" })).blob();
  }

  /** Lines by their numbers from 0, the end exclusive. */
  async texts(first: number, end: number): Promise<readonly string[]> {
    const texts: string[] = [];
    while (first + texts.length < end) {
      const count = Math.min(mostLines, end - first - texts.length);
      const query = { ...this.#query(), from: String(first + texts.length), count: String(count) };
      const { lines } = await requestJson<LogPage>("GET", logPath(this.#name.run), { query });
      if (lines.length === 0) break;
      texts.push(...lines.map(({ text }) => text));
    }
    return texts;
  }

  #query() {
    const { step, attempt } = this.#name;
    return { step, attempt: attempt === undefined ? undefined : String(attempt) };
  }

  /** Resolves when the end of the log is here, and of a log that is not too long its errors are known. */
  async open(): Promise<void> {
    await this.store.open();
    if (this.store.load.peek().is === "failed") return;
    if (this.store.total.peek() <= longestOpened) await this.store.wantAll();
    this.#findErrors();
    this.#ends.push(
      effect(() => {
        void this.store.version.value;
        void this.errorPattern.value;
        this.#cancelErrors();
        this.#cancelErrors = clock.after(500, () => this.#findErrors());
      }),
    );
    if (!this.store.isOver.peek()) this.#follow();
  }

  close(): void {
    this.#cancelTyping();
    this.#cancelErrors();
    for (const end of this.#ends.splice(0)) end();
    this.store.close();
  }

  fold(line: number): void {
    const next = new Set(this.folded.peek());
    if (!next.delete(line)) next.add(line);
    this.folded.value = next;
  }

  /** Searches once the person stops typing. */
  searchFor(text: string): void {
    this.search.value = text;
    // What was found is of another text.
    this.isSearching.value = text !== "";
    this.#cancelTyping();
    this.#cancelTyping = clock.after(typingMs, () => void this.#search(text));
  }

  async #search(text: string): Promise<void> {
    if (text === "") {
      this.matches.value = { count: 0, lines: [] };
      return;
    }
    try {
      const { total, isOver } = this.store;
      const { step, attempt } = this.#query();
      const found =
        total.peek() > longestOpened && isOver.peek()
          ? await requestJson<LogMatches>("GET", `${logPath(this.#name.run)}/search`, {
              query: { step, attempt, text },
            })
          : undefined;
      if (found === undefined && total.peek() <= longestRead) await this.store.wantAll();
      if (this.search.peek() === text) this.matches.value = found ?? matchesOf(this.store, text);
    } catch {
      // What is here is searched, as for a log that still grows.
      if (this.search.peek() === text) this.matches.value = matchesOf(this.store, text);
    }
    if (this.search.peek() === text) this.isSearching.value = false;
  }

  #findErrors(): void {
    const text = this.errorPattern.peek();
    if (this.#errors?.text !== text) {
      const pattern = errorPattern(text);
      this.#errors = pattern === undefined ? undefined : { text, search: new ErrorSearch(pattern) };
    }
    if (this.#errors !== undefined) this.errors.value = this.#errors.search.of(this.store);
  }

  #follow(): void {
    const { run } = this.#name;
    const { step, attempt } = this.#query();
    const params = {
      dialect: run.dialect,
      namespace: run.namespace,
      name: run.name,
      ...(step === undefined ? {} : { step }),
      ...(attempt === undefined ? {} : { attempt }),
      from: String(this.store.total.peek()),
    };
    const take = ({ type, object }: StreamLine): void => {
      if (type === "GONE") void this.store.open();
      if ((type === "ADDED" || type === "MODIFIED") && isLogPage(object)) this.store.take(object);
    };
    const handle = stream.subscribe({ what: "log", params }, (line) => inFrame(() => take(line)));
    this.#ends.push(() => handle.close());
  }
}

const isLogPage = (object: unknown): object is LogPage =>
  typeof object === "object" && object !== null && "lines" in object && Array.isArray(object.lines);
