import type { ProcessIdentity } from "#lib/base/index.node.ts";
import { deferred, type Deferred, type Instant, isJsonObject } from "#lib/base/index.ts";
import type { Task, TaskOutcome } from "../../contract.ts";
import { JournalFile } from "./journal-file.ts";

/** What a later runner needs to adopt a task: names of variables, never values, and the pool's names of its pipes. */
export interface Handover {
  readonly logPath: string;
  readonly logRotation?: Task["logRotation"] | undefined;
  readonly maskedVariables?: Task["maskedVariables"] | undefined;
  readonly message?: string | undefined;
  readonly mounts?: Task["mounts"] | undefined;
  readonly pipes: readonly [stdout: string, stderr: string, reports: string];
}

/**
 * What the runner must not forget. Commands and environments are never written: they may hold secrets.
 *
 *     intent  -> started -> ended -> removed     the usual way
 *     intent  -> ended -> removed                it could not be started
 *     intent  | started, and nothing more        the runner was killed: its successor adopts the task, or calls it lost
 */
export type JournalEntry =
  /** Before anything is done: from here the task may have run. */
  | { readonly entry: "intent"; readonly id: string; readonly at: Instant }
  /** A task with a handover begins only after this is on the disk. */
  | {
      readonly entry: "started";
      readonly id: string;
      readonly at: Instant;
      readonly process: ProcessIdentity;
      readonly handover?: Handover;
    }
  | { readonly entry: "ended"; readonly id: string; readonly outcome: TaskOutcome }
  /** Its owner no longer needs it; the id is unknown from here. */
  | { readonly entry: "removed"; readonly ids: readonly string[] };

export type StartedEntry = Extract<JournalEntry, { readonly entry: "started" }>;

// Fewer stale lines are not worth a new file.
const leastStale = 2_000;

/**
 * Lines of JSON, appended and flushed. Entries that come during a flush share the next one. A failed append leaves
 * nothing and may be repeated. The last entry of each task counts; lines of removed tasks are dropped when they
 * outnumber the others. Used by one process at a time, the holder of the runner's lock.
 */
export class Journal {
  readonly #path: string;
  /** The last durable entry of each task that was not removed, in the order of first entries. */
  readonly #live: Map<string, JournalEntry>;
  #file: JournalFile;
  /** Lines in the file, including stale ones. */
  #lines: number;
  #waiting: { readonly entry: JournalEntry; readonly done: Deferred<void> }[] = [];
  #flushing: Promise<void> | undefined;

  private constructor(path: string, live: Map<string, JournalEntry>, file: JournalFile) {
    this.#path = path;
    this.#live = live;
    this.#file = file;
    this.#lines = live.size;
  }

  /**
   * Opens the journal; `last` is the last entry of each task that was not removed. The file is rewritten without torn,
   * damaged or stale lines. Rejects on disk failure; the old file is then unchanged.
   */
  static async open(path: string): Promise<{ readonly journal: Journal; readonly last: readonly JournalEntry[] }> {
    const live = readLive(path);
    const last = [...live.values()];
    const file = await JournalFile.replace(path, last.map(lineOf).join(""));
    return { journal: new Journal(path, live, file), last };
  }

  /**
   * Whether the journal has tasks that were not removed. Only reads, so a runner may be active. Throws on disk failure.
   */
  static hasTasks(path: string): boolean {
    return readLive(path).size > 0;
  }

  /** Resolves when the entry is on the disk. Rejects if that is uncertain; the next append then overwrites it. */
  append(entry: JournalEntry): Promise<void> {
    const done = deferred<void>();
    this.#waiting.push({ entry, done });
    this.#flushing ??= this.#flush();
    return done.promise;
  }

  /** Resolves when all that was appended is on the disk or refused. Nothing may be appended afterwards. */
  async close(): Promise<void> {
    await this.#flushing;
    this.#file.close();
  }

  async #flush(): Promise<void> {
    // Entries of the same turn share a flush.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const end = this.#file.end;
      try {
        this.#file.append(batch.map(({ entry }) => lineOf(entry)).join(""));
        await this.#file.flush();
        this.#lines += batch.length;
        for (const { entry, done } of batch) {
          note(this.#live, entry);
          done.resolve();
        }
      } catch (failure) {
        // A batch that was written but not flushed may still reach the disk, so the next one overwrites it.
        this.#file.rewind(end);
        for (const { done } of batch) done.reject(failure);
      }
      if (this.#lines - this.#live.size > leastStale + this.#live.size) await this.#compact();
    }
    this.#flushing = undefined;
  }

  /** Waiting entries are not part of it; they are appended to the new file. */
  async #compact(): Promise<void> {
    try {
      const file = await JournalFile.replace(this.#path, [...this.#live.values()].map(lineOf).join(""));
      this.#file.close();
      this.#file = file;
      this.#lines = this.#live.size;
    } catch {
      // The present file is still good; the next batch retries.
    }
  }
}

/** The last entry of each task that was not removed. */
function readLive(path: string): Map<string, JournalEntry> {
  const live = new Map<string, JournalEntry>();
  for (const entry of parseEntries(JournalFile.read(path))) note(live, entry);
  return live;
}

function note(live: Map<string, JournalEntry>, entry: JournalEntry): void {
  if (entry.entry === "removed") for (const id of entry.ids) live.delete(id);
  else live.set(entry.id, entry);
}

const lineOf = (entry: JournalEntry): string => `${JSON.stringify(entry)}\n`;

// A torn last line was reported to nobody.
function parseEntries(text: string): readonly JournalEntry[] {
  const whole = text.split("\n").slice(0, -1);
  return whole.map(parseEntry).filter((entry) => entry !== undefined);
}

// A damaged line must not keep the runner from starting.
function parseEntry(line: string): JournalEntry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Checks only what reading needs: the file is written by this program. */
function isEntry(value: unknown): value is JournalEntry {
  if (!isJsonObject(value)) return false;
  const { entry, id, ids } = value;
  return entry === "removed"
    ? Array.isArray(ids)
    : typeof id === "string" && (entry === "intent" || entry === "started" || entry === "ended");
}
