import { type Cancel, type Clock, type Instant, type Millis } from "#lib/base/index.ts";
import { LogWriter } from "#kernel/streams/index.ts";
import type { Runtime, RuntimeCapabilities, Task, TaskOutcome, TaskStatus } from "../contract.ts";
import type { Interaction, InteractionOptions } from "../interaction.ts";
import { runtimeClosed } from "../errors.ts";
import { TaskMirror } from "../task-mirror.ts";

/**
 * A Runtime in memory for tests, which decide what tasks print and when they end. It passes the contract suite of the
 * real ones and writes real log files. A grace ends when the clock is moved past it.
 */
export interface FakeRuntime extends Runtime {
  /** In the order of their starts. */
  readonly started: readonly Task[];
  /** Every stop with its grace. */
  readonly stops: readonly { readonly id: string; readonly grace: Millis }[];
  /** Only for running tasks. */
  print(id: string, text: string): void;
  /** Resolves when the output can be read and the end was reported. */
  exit(id: string, code: number): Promise<void>;
  lose(id: string): void;
  /** Makes starts fail, or succeed again. */
  failStarts(failure: Error | undefined): void;
  /** Makes stops fail, or succeed again; they are recorded all the same. */
  failStops(failure: Error | undefined): void;
}

export interface FakeRuntimeOptions {
  readonly clock: Clock;
  /** Default: a host's, as root. */
  readonly capabilities?: Partial<RuntimeCapabilities>;
  /** Called at the start of each task; without it tasks run until the test ends them. */
  readonly behave?: (task: Task, runtime: FakeRuntime) => void;
  /** Without it commands beside tasks are refused. */
  readonly interact?: (task: Task, options: InteractionOptions) => Interaction;
  /** Tasks that TERM does not end. */
  readonly ignoresTerm?: (task: Task) => boolean;
}

export const createFakeRuntime = (options: FakeRuntimeOptions): FakeRuntime => new MemoryRuntime(options);

interface Running {
  readonly task: Task;
  readonly startedAt: Instant;
  readonly log: LogWriter;
  /** When the shortest grace so far is over. */
  killAt?: Millis;
  cancelKill?: Cancel;
}

/** A task is in `#running` until its end, in the mirror until it is removed. */
class MemoryRuntime implements FakeRuntime {
  readonly name = "fake";
  readonly started: Task[] = [];
  readonly stops: { readonly id: string; readonly grace: Millis }[] = [];
  readonly #options: FakeRuntimeOptions;
  readonly #mirror = new TaskMirror();
  readonly #running = new Map<string, Running>();
  #failure: Error | undefined;
  #stopFailure: Error | undefined;
  #closed = false;

  constructor(options: FakeRuntimeOptions) {
    this.#options = options;
  }

  async capabilities(): Promise<RuntimeCapabilities> {
    return { images: false, mounts: { supported: true }, users: true, limits: false, ...this.#options.capabilities };
  }

  async start(task: Task): Promise<TaskStatus> {
    this.#check();
    if (this.#failure !== undefined) throw this.#failure;
    const known = this.#mirror.find(task.id);
    if (known !== undefined) return known;
    this.started.push(task);
    const { clock } = this.#options;
    this.#running.set(task.id, { task, startedAt: clock.now(), log: new LogWriter(task.logPath, { clock }) });
    const status: TaskStatus = { id: task.id, state: { phase: "running", startedAt: clock.now() } };
    this.#mirror.put(status);
    this.#options.behave?.(task, this);
    return this.#mirror.find(task.id) ?? status;
  }

  async interact(task: Task, options: InteractionOptions): Promise<Interaction> {
    this.#check();
    const { interact } = this.#options;
    if (interact === undefined) throw new Error("the test says nothing of commands beside tasks");
    return interact(task, options);
  }

  async stop(id: string, grace: Millis): Promise<void> {
    this.#check();
    this.stops.push({ id, grace });
    if (this.#stopFailure !== undefined) throw this.#stopFailure;
    const running = this.#running.get(id);
    if (running === undefined) return;
    const killAt = this.#options.clock.monotonic() + Math.max(0, grace);
    if (running.killAt !== undefined && running.killAt <= killAt) return;
    running.killAt = killAt;
    running.cancelKill?.();
    if (grace <= 0) return this.#end(id, 137, "SIGKILL");
    if (this.#options.ignoresTerm?.(running.task) !== true) return this.#end(id, 143, "SIGTERM");
    running.cancelKill = this.#options.clock.after(grace, () => void this.#end(id, 137, "SIGKILL"));
  }

  async list(owner?: string): Promise<readonly TaskStatus[]> {
    this.#check();
    return this.#mirror.list(owner);
  }

  find(id: string): TaskStatus | undefined {
    return this.#mirror.find(id);
  }

  async remove(ids: readonly string[]): Promise<void> {
    this.#check();
    this.#mirror.remove(ids.filter((id) => this.#mirror.find(id)?.state.phase === "ended"));
  }

  subscribe(listener: (status: TaskStatus) => void): Cancel {
    return this.#mirror.subscribe(listener);
  }

  async close(options: { readonly stopTasks?: Millis } = {}): Promise<void> {
    if (options.stopTasks !== undefined) {
      for (const id of this.#running.keys()) await this.stop(id, options.stopTasks);
    }
    this.#closed = true;
  }

  print(id: string, text: string): void {
    this.#running.get(id)?.log.append("stdout", Buffer.from(text));
  }

  exit(id: string, code: number): Promise<void> {
    return this.#end(id, code);
  }

  lose(id: string): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    const { startedAt } = running;
    this.#settle(id, { kind: "lost", message: "lost by the test", startedAt, finishedAt: this.#options.clock.now() });
  }

  failStarts(failure: Error | undefined): void {
    this.#failure = failure;
  }

  failStops(failure: Error | undefined): void {
    this.#stopFailure = failure;
  }

  /** The log is complete before the end is reported. */
  async #end(id: string, code: number, signal?: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    const { startedAt, log } = running;
    const finishedAt = this.#options.clock.now();
    await log.close();
    this.#settle(id, { kind: "exited", code, ...(signal === undefined ? {} : { signal }), startedAt, finishedAt });
  }

  /** Only the first end counts. */
  #settle(id: string, outcome: TaskOutcome): void {
    this.#running.get(id)?.cancelKill?.();
    if (this.#running.delete(id)) this.#mirror.put({ id, state: { phase: "ended", outcome } });
  }

  #check(): void {
    if (this.#closed) throw runtimeClosed(this.name);
  }
}
