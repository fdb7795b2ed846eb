import { type Cancel, type Clock, deferred, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import type { Runtime, RuntimeCapabilities, Task, TaskStatus } from "../contract.ts";
import type { Interaction, InteractionOptions } from "../interaction.ts";
import { runtimeClosed } from "../errors.ts";
import { TaskMirror } from "../task-mirror.ts";
import { Companions } from "./companions.ts";
import { Reaper } from "./reaper.ts";
import { capabilitiesWith, onceFoundTools } from "./runner/host-command.ts";
import { MountPoints } from "./runner/mount-points.ts";
import { PipePool } from "./runner/pipe-pool.ts";
import { findSupervisor } from "./runner/supervisor.ts";
import { spawnTask } from "./runner/task-process.ts";
import { TaskTable } from "./runner/task-table.ts";

export interface LocalRuntimeOptions {
  /** An existing directory used for nothing else. Its owner removes it after `close`. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface LocalRuntime extends Runtime {
  interact(task: Task, options: InteractionOptions): Promise<Interaction>;
  /** Kills all tasks without waiting: for a process about to exit. Their ends may go unreported. */
  kill(): void;
}

/**
 * Runs tasks as host processes without a runner process, which takes a whole Node.js start. For control planes that end
 * with this process: nothing is durable, and tasks are killed when this process ends; see `Reaper`.
 */
export function createLocalRuntime(options: LocalRuntimeOptions): LocalRuntime {
  return new ChildrenRuntime(options);
}

class ChildrenRuntime implements LocalRuntime {
  readonly name = "process";
  readonly #clock: Clock;
  readonly #mirror = new TaskMirror();
  readonly #tools = onceFoundTools();
  readonly #reaper = new Reaper();
  readonly #companions: Companions;
  /** Rejects if the directory cannot be used. */
  readonly #table: Promise<TaskTable>;
  /** The same, for `kill`, which cannot wait. */
  #started: TaskTable | undefined;
  #pipes: PipePool | undefined;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  constructor({ directory, clock, log }: LocalRuntimeOptions) {
    this.#clock = clock;
    this.#companions = new Companions(`${directory}/companions`, clock);
    this.#table = this.#open(directory, log);
    // Callers of `start` see the failure.
    this.#table.catch(() => undefined);
  }

  async capabilities(): Promise<RuntimeCapabilities> {
    return capabilitiesWith(await this.#tools());
  }

  async start(task: Task): Promise<TaskStatus> {
    const table = await this.#table;
    if (this.#isClosed) throw runtimeClosed(this.name);
    const status = await table.start(task);
    this.#mirror.put(status);
    return this.#mirror.find(task.id) ?? status;
  }

  async interact(task: Task, options: InteractionOptions): Promise<Interaction> {
    if (this.#isClosed) throw runtimeClosed(this.name);
    return this.#companions.start(task, options);
  }

  async stop(id: string, grace: Millis): Promise<void> {
    (await this.#table).stop(id, grace);
  }

  list(owner?: string): Promise<readonly TaskStatus[]> {
    return Promise.resolve(this.#mirror.list(owner));
  }

  find(id: string): TaskStatus | undefined {
    return this.#mirror.find(id);
  }

  async remove(ids: readonly string[]): Promise<void> {
    const ended = ids.filter((id) => this.#mirror.find(id)?.state.phase === "ended");
    await (await this.#table).remove(ended);
    this.#mirror.remove(ended);
  }

  subscribe(listener: (status: TaskStatus) => void): Cancel {
    return this.#mirror.subscribe(listener);
  }

  kill(): void {
    this.#companions.kill();
    this.#started?.stopAll(0);
  }

  /** With `stopTasks` it resolves when all tasks have ended. */
  async close({ stopTasks }: { readonly stopTasks?: Millis } = {}): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#companions.close();
    const table = await this.#table.catch(() => undefined);
    if (table !== undefined && stopTasks !== undefined) await this.#endAll(table, stopTasks);
    await this.#pipes?.close();
  }

  async #endAll(table: TaskTable, grace: Millis): Promise<void> {
    table.stopAll(grace);
    if (table.active > 0) {
      const idle = deferred<void>();
      this.#onIdle = () => idle.resolve();
      await idle.promise;
    }
    this.#reaper.close();
  }

  async #open(directory: string, log: Logger): Promise<TaskTable> {
    const pipes = await PipePool.create(`${directory}/pipes`);
    this.#pipes = pipes;
    const found = { namespaceTools: this.#tools, supervisor: findSupervisor() };
    const context = { clock: this.#clock, pipes, ...found, mountPoints: new MountPoints(), guard: this.#reaper };
    const table = TaskTable.inMemory({
      clock: this.#clock,
      spawn: (task, note) => spawnTask(task, context, note),
      onChange: (status) => this.#tell(table, status),
      onTrouble: (failure) => log.error("failed to record a task", { error: messageOf(failure) }),
    });
    this.#started = table;
    return table;
  }

  #tell(table: TaskTable, status: TaskStatus): void {
    this.#mirror.put(status);
    if (table.active === 0) this.#onIdle?.();
  }
}
