import { afterAwake, type Cancel, type Clock, messageOf, type Millis } from "#lib/base/index.ts";
import type { Task, TaskOutcome, TaskState, TaskStatus } from "../../contract.ts";
import type { Journal, JournalEntry, StartedEntry } from "./journal.ts";
import { identityOf, isAlive, signalGroup } from "#lib/base/index.node.ts";
import type { NoteBegun, TaskProcess } from "./follow-task.ts";

/**
 * A task's states. Each is reported only after the entry on its arrow is in the journal.
 *
 *     start()  -intent->  starting  -started->  running  -ended->  ended  -removed->  (unknown)
 *                            \________________________________________/
 *                              could not be started, or stopped before
 */
interface Entry {
  readonly id: string;
  state: TaskState;
  /** Resolves when the task runs or has ended. */
  ready: Promise<void>;
  process?: TaskProcess;
  /** The grace of a stop requested before there was a process. */
  stopGrace?: Millis;
  /** When the shortest grace ends (monotonic), and what cancels its KILL. */
  killAt?: Millis;
  cancelKill?: Cancel;
}

export interface TaskTableOptions {
  readonly clock: Clock;
  /** Starts a task's process, or returns why it cannot run. A rejection also ends the task. */
  readonly spawn: (task: Task, note: NoteBegun) => Promise<TaskProcess | TaskOutcome>;
  /** Called after a change is durable, once per phase, in order per task. Must not throw. */
  readonly onChange: (status: TaskStatus) => void;
  /** Called for every failed attempt to write the journal, which is repeated. Must not throw. */
  readonly onTrouble: (failure: unknown) => void;
}

export type TaskJournal = Pick<Journal, "append" | "close">;

/** What an earlier runner left, and how to continue one of its tasks; undefined if that is not possible. */
interface Inheritance {
  readonly journal: TaskJournal;
  readonly last: readonly JournalEntry[];
  readonly adopt?: (started: StartedEntry) => Promise<TaskProcess | undefined>;
}

const noJournal: TaskJournal = { append: () => Promise.resolve(), close: () => Promise.resolve() };

/** Pause between attempts to record an end. Until then the task counts as active. */
const retryMs: Millis = 1_000;

/** All tasks of a runner. Changes are journaled before they are reported. Entries stay until removed. */
export class TaskTable {
  readonly #options: TaskTableOptions;
  readonly #clock: Clock;
  readonly #journal: TaskJournal;
  readonly #entries = new Map<string, Entry>();
  #active = 0;

  private constructor(options: TaskTableOptions, journal: TaskJournal) {
    this.#options = options;
    this.#clock = options.clock;
    this.#journal = journal;
  }

  /** Adopts an earlier runner's tasks or reports them lost; resolves when recorded. The caller must hold the lock. */
  static async open(options: TaskTableOptions, { journal, last, adopt }: Inheritance): Promise<TaskTable> {
    const table = new TaskTable(options, journal);
    await Promise.all(last.map((entry) => table.#recover(entry, adopt)));
    return table;
  }

  /** A table without a journal: it ends with this process. */
  static inMemory(options: TaskTableOptions): TaskTable {
    return new TaskTable(options, noJournal);
  }

  /** Tasks without a recorded end. */
  get active(): number {
    return this.#active;
  }

  list(): readonly TaskStatus[] {
    return [...this.#entries.values()].map(statusOf);
  }

  /** Resolves with the status once the task runs or ended; idempotent by id. Rejects if the intent is not recorded. */
  async start(task: Task): Promise<TaskStatus> {
    const known = this.#entries.get(task.id);
    if (known !== undefined) {
      await known.ready;
      return statusOf(known);
    }
    const entry: Entry = { id: task.id, state: { phase: "starting" }, ready: Promise.resolve() };
    this.#entries.set(task.id, entry);
    this.#active++;
    entry.ready = this.#run(task, entry);
    await entry.ready;
    return statusOf(entry);
  }

  /**
   * TERM to all processes of the task, KILL after `grace`, at once if that is 0. A repeated call can only shorten the
   * grace. A task that is not running yet is not started, or stopped right after. Others are left alone.
   */
  stop(id: string, grace: Millis): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.state.phase === "ended") return;
    if (entry.process === undefined) {
      entry.stopGrace = Math.min(grace, entry.stopGrace ?? grace);
      return;
    }
    const { process } = entry;
    const killAt = this.#clock.monotonic() + Math.max(0, grace);
    if (entry.killAt !== undefined && entry.killAt <= killAt) return;
    entry.killAt = killAt;
    entry.cancelKill?.();
    if (grace <= 0) {
      process.signal("SIGKILL");
      return;
    }
    process.signal("SIGTERM");
    // A stopped process does not receive TERM before CONT.
    process.signal("SIGCONT");
    entry.cancelKill = afterAwake(this.#clock, grace, () => process.signal("SIGKILL"));
  }

  stopAll(grace: Millis): void {
    for (const id of this.#entries.keys()) this.stop(id, grace);
  }

  /** Forgets the ended tasks among the ids. If it rejects, none is forgotten. */
  async remove(ids: readonly string[]): Promise<void> {
    const ended = ids.filter((id) => this.#entries.get(id)?.state.phase === "ended");
    if (ended.length === 0) return;
    await this.#journal.append({ entry: "removed", ids: ended });
    for (const id of ended) this.#entries.delete(id);
  }

  /** Only for a table without active tasks. */
  close(): Promise<void> {
    return this.#journal.close();
  }

  async #run(task: Task, entry: Entry): Promise<void> {
    try {
      await this.#journal.append({ entry: "intent", id: task.id, at: this.#clock.now() });
    } catch (failure) {
      // Not recorded, so not begun: the caller may try again. Concurrent callers get the same error.
      this.#entries.delete(task.id);
      this.#active--;
      throw failure;
    }
    const result = entry.stopGrace !== undefined ? this.#stoppedBeforeStart() : await this.#spawn(task);
    if ("kind" in result) return this.#end(entry, result);
    this.#runs(entry, result);
    this.#options.onChange(statusOf(entry));
  }

  async #spawn(task: Task): Promise<TaskProcess | TaskOutcome> {
    const note: NoteBegun = ({ pid, startedAt, handover }) => {
      const kept = handover === undefined ? {} : { handover };
      const started = { entry: "started", id: task.id, at: startedAt, process: identityOf(pid), ...kept } as const;
      // Without this entry the next runner reports the task as lost while starting, which is also true.
      return this.#journal.append(started).catch(this.#options.onTrouble);
    };
    try {
      return await this.#options.spawn(task, note);
    } catch (thrown) {
      return { kind: "not-started", code: 128, message: messageOf(thrown), finishedAt: this.#clock.now() };
    }
  }

  #runs(entry: Entry, process: TaskProcess): void {
    const { pid, startedAt } = process;
    entry.process = process;
    entry.state = { phase: "running", startedAt, pid };
    if (entry.stopGrace !== undefined) this.stop(entry.id, entry.stopGrace);
    void process.ended.then((outcome) => this.#end(entry, outcome));
  }

  #stoppedBeforeStart(): TaskOutcome {
    const message = "stopped before it was started";
    return { kind: "not-started", code: 128, message, finishedAt: this.#clock.now() };
  }

  async #end(entry: Entry, outcome: TaskOutcome): Promise<void> {
    entry.cancelKill?.();
    for (;;) {
      try {
        await this.#journal.append({ entry: "ended", id: entry.id, outcome });
        break;
      } catch (failure) {
        // Only a durable outcome is reported; a full disk may have room again later.
        this.#options.onTrouble(failure);
        await new Promise<void>((resolve) => this.#clock.after(retryMs, resolve));
      }
    }
    this.#active--;
    entry.state = { phase: "ended", outcome };
    this.#options.onChange(statusOf(entry));
  }

  async #recover(last: JournalEntry, adopt: Inheritance["adopt"]): Promise<void> {
    if (last.entry === "removed") return;
    const entry: Entry = { id: last.id, state: { phase: "starting" }, ready: Promise.resolve() };
    this.#entries.set(last.id, entry);
    // A task whose pipes cannot be opened is lost.
    const process = last.entry === "started" ? await adopt?.(last).catch(() => undefined) : undefined;
    if (process) {
      this.#active++;
      return this.#runs(entry, process);
    }
    const outcome = last.entry === "ended" ? last.outcome : this.#lost(last);
    entry.state = { phase: "ended", outcome };
    if (last.entry !== "ended") await this.#journal.append({ entry: "ended", id: last.id, outcome });
  }

  #lost(last: Exclude<JournalEntry, { readonly entry: "ended" | "removed" }>): TaskOutcome {
    const finishedAt = this.#clock.now();
    if (last.entry === "intent") {
      return { kind: "lost", message: "the runner process ended while starting it; it may have run", finishedAt };
    }
    const alive = isAlive(last.process);
    // Its output and exit code are lost; it must not run on unseen.
    if (alive) signalGroup(last.process.pid, "SIGKILL");
    const fate = alive ? "it was still running and has been killed" : "its exit code is unknown";
    return { kind: "lost", message: `the runner process ended while it ran; ${fate}`, startedAt: last.at, finishedAt };
  }
}

const statusOf = (entry: Entry): TaskStatus => ({ id: entry.id, state: entry.state });
