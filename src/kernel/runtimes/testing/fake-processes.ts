import { deferred, type Deferred } from "#lib/base/index.ts";
import type { Task, TaskOutcome } from "../contract.ts";
import type { JournalEntry, StartedEntry } from "../process/runner/journal.ts";
import type { Begun, NoteBegun, TaskProcess } from "../process/runner/follow-task.ts";
import type { TaskJournal } from "../process/runner/task-table.ts";

/** A number that no process of this machine can have. */
const firstPid = 2 ** 30;

/** Processes that end when a test says so, to be given to a task table. */
export class FakeProcesses {
  /** Ids in the order in which somebody asked for their process. */
  readonly asked: string[] = [];
  /** Ids in the order in which they were spawned, each as often as it was. */
  readonly spawned: string[] = [];
  /** `id SIGNAL`, in order. */
  readonly signals: string[] = [];
  readonly #running = new Map<string, Deferred<TaskOutcome>>();
  /** Tasks whose spawn waits for `release`. */
  readonly #held = new Map<string, Deferred<void>>();

  readonly spawn = async ({ id, command }: Task, note: NoteBegun): Promise<TaskProcess | TaskOutcome> => {
    this.asked.push(id);
    await this.#held.get(id)?.promise;
    this.spawned.push(id);
    if (command[0] === "missing") return { kind: "not-started", code: 127, message: "not found", finishedAt: 1 };
    if (command[0] === "impossible") throw new Error("no pipe");
    const ended = deferred<TaskOutcome>();
    this.#running.set(id, ended);
    const begun = { pid: firstPid + this.spawned.length, startedAt: 10 };
    await note(begun);
    return this.#process(id, begun, ended);
  };

  #process(id: string, begun: Begun, ended: Deferred<TaskOutcome>): TaskProcess {
    return {
      ...begun,
      ended: ended.promise,
      signal: (signal) => {
        this.signals.push(`${id} ${signal}`);
        if (signal === "SIGKILL") this.exit(id, 137);
      },
    };
  }

  /** Goes on with a process that still runs, for another table. */
  readonly adopt = ({ id }: StartedEntry): Promise<TaskProcess | undefined> => {
    const ended = this.#running.get(id);
    return Promise.resolve(ended && this.#process(id, { pid: firstPid, startedAt: 10 }, ended));
  };

  /** Ends a process; nothing happens when it does not run. */
  exit(id: string, code: number): void {
    this.#running.get(id)?.resolve({ kind: "exited", code, startedAt: 10, finishedAt: 20 });
    this.#running.delete(id);
  }

  /** The spawn of this task takes until `release`. */
  hold(id: string): void {
    this.#held.set(id, deferred());
  }

  release(id: string): void {
    this.#held.get(id)?.resolve();
    this.#held.delete(id);
  }
}

/** A journal whose disk is as slow and as full as a test says. What is durable is what a successor would read. */
export class FakeJournal implements TaskJournal {
  readonly durable: JournalEntry[] = [];
  #waiting: { readonly entry: JournalEntry; readonly done: Deferred<void> }[] = [];
  #isSlow = false;
  #failure: Error | undefined;

  append(entry: JournalEntry): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const done = deferred<void>();
    this.#waiting.push({ entry, done });
    if (!this.#isSlow) this.flush();
    return done.promise;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** From now on entries wait for `flush`. */
  slow(): void {
    this.#isSlow = true;
  }

  /** Brings the first `count` waiting entries to the disk, all of them unless told. */
  flush(count = this.#waiting.length): void {
    for (const { entry, done } of this.#waiting.splice(0, count)) {
      this.durable.push(entry);
      done.resolve();
    }
  }

  /** The disk refuses all entries that wait. */
  refuse(failure: Error): void {
    for (const { done } of this.#waiting.splice(0)) done.reject(failure);
  }

  /** From now on every append fails with this; undefined heals the disk. */
  fail(failure: Error | undefined): void {
    this.#failure = failure;
  }

  /** The last word on each task that was not removed, as `Journal.open` finds it. */
  get last(): readonly JournalEntry[] {
    const live = new Map<string, JournalEntry>();
    for (const entry of this.durable) {
      if (entry.entry === "removed") for (const id of entry.ids) live.delete(id);
      else live.set(entry.id, entry);
    }
    return [...live.values()];
  }
}
