import { type Cancel, type Clock, codeOf, type Logger, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import type { Runtime, RuntimeCapabilities, Task, TaskStatus } from "../contract.ts";
import { runnerTaken, runnerUnreachable, runnerVersion, runtimeClosed } from "../errors.ts";
import { TaskMirror } from "../task-mirror.ts";
import { launchRunner } from "./launch-runner.ts";
import { type RunnerPaths, runnerPaths } from "./paths.ts";
import { type Call, type LinkEvents, LinkLost, RunnerLink } from "./runner-link.ts";
import { type Hello, protocolVersion } from "./wire.ts";

export interface ProcessRuntimeOptions {
  /** The runner's own directory: 0700, kept between starts of the server, used by one server at a time. */
  readonly directory: string;
  /** The runner's bundle. */
  readonly runnerPath: string;
  readonly nodePath: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a runner without owner and tasks stays; 10 s when absent. */
  readonly runnerIdle?: Millis;
}

const defaultIdle: Millis = 10_000;
const firstRetry: Millis = 50;
const longestRetry: Millis = 5_000;
const mostAttempts = 6;

/**
 * Runs tasks as host processes, children of a small runner process that outlives this one. The runner is started, or found,
 * at once; calls wait for it. When it dies a new one is started, which reports what the old one left unfinished as lost.
 */
export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  return new ProcessRuntime(options);
}

class ProcessRuntime implements Runtime {
  readonly name = "process";
  readonly #options: ProcessRuntimeOptions;
  readonly #paths: RunnerPaths;
  readonly #mirror = new TaskMirror();
  readonly #closed = new AbortController();
  #link: Promise<RunnerLink>;
  #capabilities: RuntimeCapabilities | undefined;

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.#paths = runnerPaths(options.directory);
    this.#link = this.#attach();
  }

  async capabilities(): Promise<RuntimeCapabilities> {
    this.#capabilities ??= (await this.#call({ op: "capabilities" })) as RuntimeCapabilities;
    return this.#capabilities;
  }

  async start(task: Task): Promise<TaskStatus> {
    const status = (await this.#call({ op: "start", task })) as TaskStatus;
    this.#mirror.put(status);
    return this.#mirror.find(task.id) ?? status;
  }

  async stop(id: string, grace: Millis): Promise<void> {
    await this.#call({ op: "stop", id, graceMs: grace });
  }

  async list(): Promise<readonly TaskStatus[]> {
    await this.#link;
    return this.#mirror.list();
  }

  find(id: string): TaskStatus | undefined {
    return this.#mirror.find(id);
  }

  async remove(ids: readonly string[]): Promise<void> {
    const ended = ids.filter((id) => this.#mirror.find(id)?.state.phase === "ended");
    if (ended.length === 0) return;
    await this.#call({ op: "remove", ids: ended });
    this.#mirror.remove(ended);
  }

  subscribe(listener: (status: TaskStatus) => void): Cancel {
    return this.#mirror.subscribe(listener);
  }

  async close(options: { readonly stopTasks?: Millis } = {}): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort(runtimeClosed(this.name));
    const link = await this.#link.catch(() => undefined);
    if (link === undefined) return;
    const { stopTasks } = options;
    // A runner that dies now has nothing left to be told.
    await link
      .call({ op: "release", ...(stopTasks === undefined ? {} : { stopTasksMs: stopTasks }) })
      .catch(() => undefined);
    await link.close();
  }

  /** Repeats a request when the connection breaks: every request of the protocol is idempotent. */
  async #call(call: Call) {
    for (let attempt = 1; ; attempt++) {
      this.#closed.signal.throwIfAborted();
      try {
        return await (await this.#link).call(call);
      } catch (thrown) {
        if (!(thrown instanceof LinkLost) || attempt === mostAttempts) throw this.#asFailure(thrown);
      }
    }
  }

  #asFailure(thrown: unknown): unknown {
    return thrown instanceof LinkLost ? runnerUnreachable(this.#paths.directory, thrown) : thrown;
  }

  #attach(): Promise<RunnerLink> {
    const attaching = this.#attachWithRetries();
    // Calls see the failure, until the next try is under way.
    attaching.catch((failure: unknown) => {
      if (this.#closed.signal.aborted || codeOf(failure) === "runner-version") return;
      this.#options.log.error("runner process is unreachable", { error: messageOf(failure) });
      this.#options.clock.after(longestRetry, () => this.#reattach(false));
    });
    return attaching;
  }

  async #attachWithRetries(): Promise<RunnerLink> {
    let delay = firstRetry;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attachOnce();
      } catch (thrown) {
        if (codeOf(thrown) === "runner-version") throw thrown;
        if (attempt === mostAttempts) throw runnerUnreachable(this.#paths.directory, thrown);
        await sleep(this.#options.clock, delay, this.#closed.signal);
        delay = Math.min(2 * delay, longestRetry);
      }
    }
  }

  async #attachOnce(): Promise<RunnerLink> {
    // A connection that breaks before it is welcomed is this attempt's failure; later it is a reason to attach again.
    let state: "new" | "welcome" | "replaced" = "new";
    const events: LinkEvents = {
      onEvent: (message) => {
        if (message.event === "replaced") state = "replaced";
        else this.#mirror.put(message.status);
      },
      onLost: () => {
        if (state !== "new") this.#reattach(state === "replaced");
      },
    };
    const link = await this.#connect(events);
    const hello = (await link.call({ op: "hello", protocol: protocolVersion })) as Hello;
    if (hello.protocol !== protocolVersion) {
      await link.close();
      throw runnerVersion(this.#paths.directory, hello.protocol, protocolVersion);
    }
    state = "welcome";
    this.#synchronize(hello.tasks);
    return link;
  }

  async #connect(events: LinkEvents): Promise<RunnerLink> {
    const paths = this.#paths;
    try {
      return await RunnerLink.connect(paths.socket, events);
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT" && codeOf(thrown) !== "ECONNREFUSED") throw thrown;
    }
    const { nodePath, runnerPath, runnerIdle = defaultIdle } = this.#options;
    await launchRunner({ nodePath, runnerPath, paths, idleMs: runnerIdle });
    return RunnerLink.connect(paths.socket, events);
  }

  #reattach(isReplaced: boolean): void {
    if (this.#closed.signal.aborted) return;
    if (isReplaced) {
      this.#closed.abort(runnerTaken(this.#paths.directory));
      return;
    }
    this.#options.log.warn("connection to the runner process is lost, making it again");
    this.#link = this.#attach();
  }

  /** What changed while nobody was attached; a task that the runner does not know any more is lost. */
  #synchronize(tasks: readonly TaskStatus[]): void {
    const present = new Set(tasks.map((task) => task.id));
    for (const task of tasks) this.#mirror.put(task);
    for (const { id, state } of this.#mirror.list()) {
      if (present.has(id)) continue;
      const startedAt = state.phase === "running" ? { startedAt: state.startedAt } : {};
      const message = "the runner process has no record of it any more";
      const outcome = { kind: "lost", message, ...startedAt, finishedAt: this.#options.clock.now() } as const;
      this.#mirror.put({ id, state: { phase: "ended", outcome } });
    }
  }
}
