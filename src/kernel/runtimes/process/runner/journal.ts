import { type FileHandle, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, deferred, type Deferred, type Instant } from "#lib/base/index.ts";
import type { TaskOutcome } from "../../contract.ts";

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
  readonly #live = new Map<string, JournalEntry>();
  #handle: FileHandle;
  #lines = 0;
  #waiting: { readonly text: string; readonly done: Deferred<void> }[] = [];
  #flushing: Promise<void> | undefined;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Opens the journal at `path`; `last` is the last entry about each task that was not removed. */
  static async open(path: string): Promise<{ readonly journal: Journal; readonly last: readonly JournalEntry[] }> {
    const text = await readFile(path, "utf8").catch((thrown: unknown) => {
      if (codeOf(thrown) === "ENOENT") return "";
      throw thrown;
    });
    const journal = new Journal(path, await open(path, "a", 0o600));
    for (const entry of parseEntries(text)) journal.#note(entry);
    // Also separates a torn last line from what is appended now.
    if (text !== "") await journal.#rewrite();
    return { journal, last: [...journal.#live.values()] };
  }

  /** Resolves when the entry is on the disk. */
  append(entry: JournalEntry): Promise<void> {
    this.#note(entry);
    const done = deferred<void>();
    this.#waiting.push({ text: lineOf(entry), done });
    this.#flushing ??= this.#flush();
    return done.promise;
  }

  async close(): Promise<void> {
    await this.#flushing;
    await this.#handle.close();
  }

  #note(entry: JournalEntry): void {
    this.#lines++;
    if (entry.entry === "removed") for (const id of entry.ids) this.#live.delete(id);
    else this.#live.set(entry.id, entry);
  }

  async #flush(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting;
        this.#waiting = [];
        await this.#writeBatch(batch);
        if (this.#lines - this.#live.size > leastStale + this.#live.size) await this.#rewrite().catch(() => undefined);
      }
    } finally {
      this.#flushing = undefined;
    }
  }

  async #writeBatch(batch: readonly { readonly text: string; readonly done: Deferred<void> }[]): Promise<void> {
    try {
      await this.#handle.appendFile(batch.map((one) => one.text).join(""));
      await this.#handle.datasync();
      for (const one of batch) one.done.resolve();
    } catch (failure) {
      for (const one of batch) one.done.reject(failure);
    }
  }

  /** Replaces the file by the live entries, in one step that a crash cannot halve. Those still waiting are then written twice. */
  async #rewrite(): Promise<void> {
    const entries = [...this.#live.values()];
    const fresh = `${this.#path}.new`;
    const handle = await open(fresh, "w", 0o600);
    await handle.writeFile(entries.map(lineOf).join(""));
    await handle.datasync();
    await rename(fresh, this.#path);
    const directory = await open(dirname(this.#path), "r");
    await directory.sync();
    await directory.close();
    await this.#handle.close();
    this.#handle = handle;
    this.#lines = entries.length;
  }
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
