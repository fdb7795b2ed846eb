import type { ProcessIdentity } from "#lib/base/index.node.ts";
import { deferred, type Deferred, type Instant, isJsonObject } from "#lib/base/index.ts";
import type { Task, TaskOutcome } from "../../contract.ts";
import { JournalFile } from "./journal-file.ts";

/**
 * What a runner must know of a task to go on with it in place of a killed one: names of variables, never their values, and the names
 * that the pipes for its output and for its supervisor's reports have in the pool.
 */
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
  /** Before anything is done: from here on the task may have run. */
  | { readonly entry: "intent"; readonly id: string; readonly at: Instant }
  /** A task with a handover has not begun before this is on the disk. */
  | {
      readonly entry: "started";
      readonly id: string;
      readonly at: Instant;
      readonly process: ProcessIdentity;
      readonly handover?: Handover;
    }
  | { readonly entry: "ended"; readonly id: string; readonly outcome: TaskOutcome }
  /** The owner needs them no more; the ids are unknown from here on. */
  | { readonly entry: "removed"; readonly ids: readonly string[] };

export type StartedEntry = Extract<JournalEntry, { readonly entry: "started" }>;

// Fewer stale lines than this are not worth a new file.
const leastStale = 2_000;

/**
 * Lines of JSON, appended and flushed to the disk. Entries that come while a flush is under way share the next one: the cost of
 * a hundred tasks that end together is that of one or two flushes. An append that fails has left nothing and may be repeated;
 * the last word on each task counts. Lines about removed tasks are dropped when they outnumber the others.
 *
 * One process at a time: the runner's lock sees to it. Memory and file grow with the tasks that are not removed.
 */
export class Journal {
  readonly #path: string;
  /** The last durable entry about each task that was not removed, in the order of their first entries. */
  readonly #live: Map<string, JournalEntry>;
  #file: JournalFile;
  /** Lines in the file; those beyond the live ones are stale. */
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
   * Opens the journal at `path`; `last` is the last entry about each task that was not removed. The file is written anew, which
   * drops what is torn, damaged or stale. Rejects when the disk fails; the old file is then untouched.
   */
  static async open(path: string): Promise<{ readonly journal: Journal; readonly last: readonly JournalEntry[] }> {
    const live = readLive(path);
    const last = [...live.values()];
    const file = await JournalFile.replace(path, last.map(lineOf).join(""));
    return { journal: new Journal(path, live, file), last };
  }

  /** Whether the journal at `path` knows of tasks that were not removed. Writes nothing, so it may be asked beside a runner. Throws when the disk fails. */
  static hasTasks(path: string): boolean {
    return readLive(path).size > 0;
  }

  /** Resolves when the entry is on the disk. Rejects when that is not certain; the next append makes sure that it is not. */
  append(entry: JournalEntry): Promise<void> {
    const done = deferred<void>();
    this.#waiting.push({ entry, done });
    this.#flushing ??= this.#flush();
    return done.promise;
  }

  /** Resolves when all that was appended is on the disk or was refused. Nothing may be appended afterwards. */
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
        // A batch that was written and not flushed may reach the disk some day, so the next one takes its place.
        this.#file.rewind(end);
        for (const { done } of batch) done.reject(failure);
      }
      if (this.#lines - this.#live.size > leastStale + this.#live.size) await this.#compact();
    }
    this.#flushing = undefined;
  }

  /** Entries that still wait are not part of it: they are appended to the new file. */
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

/** The last entry about each task that was not removed. */
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

// A torn last line is an entry that nobody was told of, so it is left out.
function parseEntries(text: string): readonly JournalEntry[] {
  const whole = text.split("\n").slice(0, -1);
  return whole.map(parseEntry).filter((entry) => entry !== undefined);
}

// One damaged line must not keep the runner from starting: the others are what its tasks' ends are known by.
function parseEntry(line: string): JournalEntry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** As much as is needed to read on safely: what is written here is written by this very program. */
function isEntry(value: unknown): value is JournalEntry {
  if (!isJsonObject(value)) return false;
  const { entry, id, ids } = value;
  return entry === "removed"
    ? Array.isArray(ids)
    : typeof id === "string" && (entry === "intent" || entry === "started" || entry === "ended");
}
