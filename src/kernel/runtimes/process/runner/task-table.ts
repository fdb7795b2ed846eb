import { afterAwake, type Cancel, type Clock, messageOf, type Millis } from "#lib/base/index.ts";
import type { Task, TaskOutcome, TaskState, TaskStatus } from "../../contract.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { identityOf, isAlive, signalGroup } from "#lib/base/index.node.ts";
import type { TaskProcess } from "./task-process.ts";

/**
 * A task's way through the table. What stands right of an arrow is told only when what stands above it is in the journal.
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
  /** The grace of a stop that came before there was a process. */
  stopGrace?: Millis;
  /** When the shortest grace so far is over, by the clock that nobody sets, and what takes its KILL back. */
  killAt?: Millis;
  cancelKill?: Cancel;
}

export interface TaskTableOptions {
  readonly clock: Clock;
  /** Starts a task's process, or says why there is none. A rejection is an outcome as well: this machine cannot start it. */
  readonly spawn: (task: Task) => Promise<TaskProcess | TaskOutcome>;
  /** Called after a change is durable, once per phase, in order per task. Must not throw. */
  readonly onChange: (status: TaskStatus) => void;
  /** The journal does not take an entry; it is tried again. Called for every try. Must not throw. */
  readonly onTrouble: (failure: unknown) => void;
}

/** Where a table writes down what a successor must know. */
export type TaskJournal = Pick<Journal, "append" | "close">;

/** For tables that have no successor. */
const noJournal: TaskJournal = { append: () => Promise.resolve(), close: () => Promise.resolve() };

/** Between two tries to note an end. An end that is not noted is kept in memory, and its task counts as active. */
const retryMs: Millis = 1_000;

/**
 * All tasks of a runner. A change is told only when the journal has it, so nobody knows more than a successor would. Entries stay
 * until they are removed by their owner: the table is as large as what its owner has not settled yet.
 */
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

  /**
   * Takes over what an earlier runner left, the `last` entries of its journal. Its tasks without an end are ended if they still
   * run, and lost. Resolves when all of that is in the journal. Who opens a table is the only runner of its directory; see
   * `acquireLock`.
   */
  static async open(
    options: TaskTableOptions,
    { journal, last }: { readonly journal: TaskJournal; readonly last: readonly JournalEntry[] },
  ): Promise<TaskTable> {
    const table = new TaskTable(options, journal);
    await Promise.all(last.map((entry) => table.#recover(entry)));
    return table;
  }

  /** A table that nobody takes over: what it knows ends with this process. */
  static inMemory(options: TaskTableOptions): TaskTable {
    return new TaskTable(options, noJournal);
  }

  /** Tasks that have not ended, or whose end is not noted yet. */
  get active(): number {
    return this.#active;
  }

  list(): readonly TaskStatus[] {
    return [...this.#entries.values()].map(statusOf);
  }

  /**
   * Resolves once the task runs or has ended. A known id is not started again, whatever its command: the answer is how it stands.
   * Rejects when the intent cannot be noted; the task has then not run and its id is as unknown as before.
   */
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
   * TERM to all processes of the task, KILL after `grace`; KILL at once when that is 0 or less. A repeated call can only bring the
   * end closer. A task that is not running yet is not started at all, or ended right after. Unknown and ended ones are left alone.
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
    // A stopped process does not see TERM before it goes on.
    process.signal("SIGCONT");
    entry.cancelKill = afterAwake(this.#clock, grace, () => process.signal("SIGKILL"));
  }

  /** Asks all tasks to end as `stop` does, at once. */
  stopAll(grace: Millis): void {
    for (const id of this.#entries.keys()) this.stop(id, grace);
  }

  /** Forgets those of the ids that have ended. Rejects when that cannot be noted; then none is forgotten. */
  async remove(ids: readonly string[]): Promise<void> {
    const ended = ids.filter((id) => this.#entries.get(id)?.state.phase === "ended");
    if (ended.length === 0) return;
    await this.#journal.append({ entry: "removed", ids: ended });
    for (const id of ended) this.#entries.delete(id);
  }

  /** Lets go of the journal; only for a table without active tasks. */
  close(): Promise<void> {
    return this.#journal.close();
  }

  async #run(task: Task, entry: Entry): Promise<void> {
    try {
      await this.#journal.append({ entry: "intent", id: task.id, at: this.#clock.now() });
    } catch (failure) {
      // Not remembered, so not begun: the caller may try again. Whoever asked for the same id meanwhile is told the same.
      this.#entries.delete(task.id);
      this.#active--;
      throw failure;
    }
    const result = entry.stopGrace !== undefined ? this.#stoppedBeforeStart() : await this.#spawn(task);
    if ("kind" in result) return this.#end(entry, result);
    entry.process = result;
    const { pid, startedAt } = result;
    if (entry.stopGrace !== undefined) this.stop(task.id, entry.stopGrace);
    const started: JournalEntry = { entry: "started", id: task.id, at: startedAt, process: identityOf(pid) };
    // Without this entry a successor would call the task lost while starting, which is true as well.
    const noted = this.#journal.append(started).catch(this.#options.onTrouble);
    const reported = noted.then(() => this.#change(entry, { phase: "running", startedAt, pid }));
    void result.ended.then((outcome) => this.#end(entry, outcome, reported));
    await reported;
  }

  async #spawn(task: Task): Promise<TaskProcess | TaskOutcome> {
    try {
      return await this.#options.spawn(task);
    } catch (thrown) {
      return { kind: "not-started", code: 128, message: messageOf(thrown), finishedAt: this.#clock.now() };
    }
  }

  #stoppedBeforeStart(): TaskOutcome {
    const message = "stopped before it was started";
    return { kind: "not-started", code: 128, message, finishedAt: this.#clock.now() };
  }

  /** `after`: the report of its start, which comes first. Both may be on their way to the disk together. */
  async #end(entry: Entry, outcome: TaskOutcome, after?: Promise<void>): Promise<void> {
    entry.cancelKill?.();
    for (;;) {
      try {
        await this.#journal.append({ entry: "ended", id: entry.id, outcome });
        break;
      } catch (failure) {
        // An outcome that is not durable is not told; a full disk may get room again.
        this.#options.onTrouble(failure);
        await new Promise<void>((resolve) => this.#clock.after(retryMs, resolve));
      }
    }
    await after;
    this.#active--;
    this.#change(entry, { phase: "ended", outcome });
  }

  #change(entry: Entry, state: TaskState): void {
    entry.state = state;
    this.#options.onChange(statusOf(entry));
  }

  async #recover(last: JournalEntry): Promise<void> {
    if (last.entry === "removed") return;
    const outcome = last.entry === "ended" ? last.outcome : this.#lost(last);
    const entry: Entry = {
      id: last.id,
      state: { phase: "ended", outcome },
      ready: Promise.resolve(),
    };
    this.#entries.set(last.id, entry);
    if (last.entry !== "ended") await this.#journal.append({ entry: "ended", id: last.id, outcome });
  }

  #lost(last: Exclude<JournalEntry, { readonly entry: "ended" | "removed" }>): TaskOutcome {
    const finishedAt = this.#clock.now();
    if (last.entry === "intent") {
      return { kind: "lost", message: "the runner process ended while starting it; it may have run", finishedAt };
    }
    const alive = isAlive(last.process);
    // Nobody reads its output or will learn its exit code; going on beside its successor would be worse.
    if (alive) signalGroup(last.process.pid, "SIGKILL");
    const fate = alive ? "it was still running and has been killed" : "its exit code is unknown";
    return { kind: "lost", message: `the runner process ended while it ran; ${fate}`, startedAt: last.at, finishedAt };
  }
}

const statusOf = (entry: Entry): TaskStatus => ({ id: entry.id, state: entry.state });
