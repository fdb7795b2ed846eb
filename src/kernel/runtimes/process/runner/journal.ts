import { deferred, type Deferred, type Instant } from "#lib/base/index.ts";
import type { TaskOutcome } from "../../contract.ts";
import { JournalFile } from "./journal-file.ts";

/** What the runner must not forget. Commands and environments are never written: they may hold secrets. */
export type JournalEntry =
  | { readonly entry: "intent"; readonly id: string; readonly at: Instant }
  | { readonly entry: "started"; readonly id: string; readonly at: Instant; readonly process: ProcessIdentity }
  | { readonly entry: "ended"; readonly id: string; readonly outcome: TaskOutcome }
  | { readonly entry: "removed"; readonly ids: readonly string[] };

/** Names a process for ever: a pid is used again, a pid with its start time and the machine's boot is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot; absent where the system does not tell. */
  readonly startTicks?: string;
  readonly boot?: string;
}

// Fewer stale lines than this are not worth a new file.
const leastStale = 2_000;

/**
 * Lines of JSON, appended and flushed to the disk. Entries that come while a flush is under way share the next one. An append
 * that fails may be repeated: reading skips what is damaged, and the last word on each task counts. Lines about removed tasks
 * are dropped when they outnumber the others.
 */
export class Journal {
  readonly #path: string;
  readonly #live: Map<string, JournalEntry>;
  #file: JournalFile;
  #lines: number;
  #waiting: { readonly text: string; readonly done: Deferred<void> }[] = [];
  #flushing: Promise<void> | undefined;

  private constructor(path: string, live: Map<string, JournalEntry>, file: JournalFile) {
    this.#path = path;
    this.#live = live;
    this.#file = file;
    this.#lines = live.size;
  }

  /** Opens the journal at `path`; `last` is the last entry about each task that was not removed. */
  static async open(path: string): Promise<{ readonly journal: Journal; readonly last: readonly JournalEntry[] }> {
    const live = new Map<string, JournalEntry>();
    for (const entry of parseEntries(JournalFile.read(path))) note(live, entry);
    const last = [...live.values()];
    const file = await JournalFile.replace(path, last.map(lineOf).join(""));
    return { journal: new Journal(path, live, file), last };
  }

  /** Resolves when the entry is on the disk. */
  append(entry: JournalEntry): Promise<void> {
    this.#lines++;
    note(this.#live, entry);
    const done = deferred<void>();
    this.#waiting.push({ text: lineOf(entry), done });
    this.#flushing ??= this.#flush();
    return done.promise;
  }

  async close(): Promise<void> {
    await this.#flushing;
    this.#file.close();
  }

  async #flush(): Promise<void> {
    // What is appended in the same turn shares the first flush, too.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        this.#file.append(batch.map((one) => one.text).join(""));
        await this.#file.flush();
        for (const one of batch) one.done.resolve();
      } catch (failure) {
        for (const one of batch) one.done.reject(failure);
      }
      if (this.#lines - this.#live.size > leastStale + this.#live.size) await this.#compact();
    }
    this.#flushing = undefined;
  }

  /** Entries still waiting are then written twice, which changes nothing. */
  async #compact(): Promise<void> {
    try {
      const file = await JournalFile.replace(this.#path, [...this.#live.values()].map(lineOf).join(""));
      this.#file.close();
      this.#file = file;
      this.#lines = this.#live.size;
    } catch {
      // The present file is still good; the next batch tries again.
    }
  }
}

function note(live: Map<string, JournalEntry>, entry: JournalEntry): void {
  if (entry.entry === "removed") for (const id of entry.ids) live.delete(id);
  else live.set(entry.id, entry);
}

const lineOf = (entry: JournalEntry): string => `${JSON.stringify(entry)}\n`;

// A torn last line is an entry that nobody was told of, so it is left out.
function parseEntries(text: string): readonly JournalEntry[] {
  const whole = text.split("\n").slice(0, -1);
  return whole.map(parseEntry).filter((entry) => entry !== undefined);
}

// A line may be damaged in the middle of the file when a write failed halfway and later ones succeeded.
function parseEntry(line: string): JournalEntry | undefined {
  try {
    return JSON.parse(line) as JournalEntry;
  } catch {
    return undefined;
  }
}
