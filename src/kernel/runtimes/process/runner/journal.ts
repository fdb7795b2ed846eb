import type { ProcessIdentity } from "#lib/base/index.node.ts";
import { deferred, type Deferred, type Instant, isJsonObject } from "#lib/base/index.ts";
import type { Task, TaskOutcome } from "../../contract.ts";
import { JournalFile } from "./journal-file.ts";

/** What the next runner needs to continue a task: names of variables, never values, and names of pooled pipes. */
export interface Handover {
  readonly logPath: string;
  readonly logRotation?: Task["logRotation"] | undefined;
  readonly maskedVariables?: Task["maskedVariables"] | undefined;
  readonly message?: string | undefined;
  readonly mounts?: Task["mounts"] | undefined;
  readonly pipes: readonly [stdout: string, stderr: string, reports: string];
}

/**
 * What survives the runner. Commands and environments are never written: they may contain secrets.
 *
 *     intent  -> started -> ended -> removed     the usual way
 *     intent  -> ended -> removed                it could not be started
 *     intent  | started                          the runner was killed: the next one adopts the task
 */
export type JournalEntry =
  /** Written first: from here on the task may have run. */
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
  | { readonly entry: "removed"; readonly ids: readonly string[] };

export type StartedEntry = Extract<JournalEntry, { readonly entry: "started" }>;

// Fewer stale lines do not justify a new file.
const leastStale = 2_000;

/**
 * Lines of JSON, appended and flushed. Entries that arrive during a flush share the next one. A failed append leaves
 * nothing and may be repeated; the last entry of each task counts. Lines about removed tasks are dropped when they
 * outnumber the others. The runner's lock makes sure that one process uses it.
 */
export class Journal {
  readonly #path: string;
  /** The last durable entry of each task that was not removed, in the order of their first entries. */
  readonly #live: Map<string, JournalEntry>;
  #file: JournalFile;
  #lines: number;
  #waiting: { readonly entry: JournalEntry; readonly done: Deferred<void> }[] = [];
  #flushing: Promise<void> | undefined;

  private constructor(path: string, live: Map<string, JournalEntry>, file: JournalFile) {
    this.#path = path;
    this.#live = live;
    this.#file = file;
    this.#lines = live.size;
  }

  /** Opens the journal, dropping stale lines; `last` has each task's last entry. Rejecting leaves the file as is. */
  static async open(path: string): Promise<{ readonly journal: Journal; readonly last: readonly JournalEntry[] }> {
    const live = readLive(path);
    const last = [...live.values()];
    const file = await JournalFile.replace(path, last.map(lineOf).join(""));
    return { journal: new Journal(path, live, file), last };
  }

  /** Whether the journal has tasks that were not removed. Only reads. Throws if the disk fails. */
  static hasTasks(path: string): boolean {
    return readLive(path).size > 0;
  }

  /** Resolves when the entry is on the disk. If it rejects, the next append makes sure that the entry is not. */
  append(entry: JournalEntry): Promise<void> {
    const done = deferred<void>();
    this.#waiting.push({ entry, done });
    this.#flushing ??= this.#flush();
    return done.promise;
  }

  /** Waits for pending appends; nothing may be appended afterwards. */
  async close(): Promise<void> {
    await this.#flushing;
    this.#file.close();
  }

  async #flush(): Promise<void> {
    // Entries of the same turn share the first flush.
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
        // It may still reach the disk, so the next batch overwrites it.
        this.#file.rewind(end);
        for (const { done } of batch) done.reject(failure);
      }
      if (this.#lines - this.#live.size > leastStale + this.#live.size) await this.#compact();
    }
    this.#flushing = undefined;
  }

  /** Waiting entries are appended to the new file. */
  async #compact(): Promise<void> {
    try {
      const file = await JournalFile.replace(this.#path, [...this.#live.values()].map(lineOf).join(""));
      this.#file.close();
      this.#file = file;
      this.#lines = this.#live.size;
    } catch {
      // The old file is still good; the next batch tries again.
    }
  }
}

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

// A torn last line was never acknowledged.
function parseEntries(text: string): readonly JournalEntry[] {
  const whole = text.split("\n").slice(0, -1);
  return whole.map(parseEntry).filter((entry) => entry !== undefined);
}

// One damaged line must not keep the runner from starting.
function parseEntry(line: string): JournalEntry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Checks only what reading on safely needs: this program wrote it. */
function isEntry(value: unknown): value is JournalEntry {
  if (!isJsonObject(value)) return false;
  const { entry, id, ids } = value;
  return entry === "removed"
    ? Array.isArray(ids)
    : typeof id === "string" && (entry === "intent" || entry === "started" || entry === "ended");
}
