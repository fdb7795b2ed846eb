import { existsSync } from "node:fs";
import {
  type Cancel,
  type Clock,
  codeOf,
  type Logger,
  messageOf,
  type Millis,
  retry,
  SlipwayError,
} from "#lib/base/index.ts";
import type { Runtime, RuntimeCapabilities, Task, TaskStatus } from "../contract.ts";
import type { Interaction, InteractionOptions } from "../interaction.ts";
import { runnerSilent, runnerTaken, runnerUnreachable, runnerVersion, runtimeClosed } from "../errors.ts";
import { TaskMirror } from "../task-mirror.ts";
import { launchRunner } from "./launch-runner.ts";
import { type RunnerPaths, runnerPaths } from "./paths.ts";
import { Companions } from "./companions.ts";
import { Patience } from "./patience.ts";
import { type Call, type LinkEvents, LinkLost, LinkSilent, RunnerLink } from "./runner-link.ts";
import { Journal } from "./runner/journal.ts";
import { type Hello, protocolVersion } from "./wire.ts";

export interface ProcessRuntimeOptions {
  /** The runner's directory: mode 0700, kept between starts, used by one server at a time. */
  readonly directory: string;
  readonly runnerPath: string;
  readonly nodePath: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a runner stays without owner and tasks; default 10 s. */
  readonly runnerIdle?: Millis;
}

/** Longer than a restart of the server. */
const defaultIdle: Millis = 10_000;
// 50, 100, 200, 400, 800 ms between the attempts of one attachment; then one every 5 s without end.
const firstRetry: Millis = 50;
const longestRetry: Millis = 5_000;
const mostAttempts = 6;
/** How often health checks reach the runner at most. */
const knockEvery: Millis = 5_000;
/** A runner of another release is contacted less often than its idle time, so that it can end. */
const versionRetries = 3;
/** Failures that calls report at once, without waiting for the next attempt. */
const standing = new Set<unknown>(["runner-silent", "runner-version"]);

/**
 * Runs tasks as children of a small runner process that outlives this one. A runner or tasks left by an earlier server
 * are attached to at once; otherwise the first call that needs a runner starts it. If the runner dies, a new one
 * continues its tasks.
 *
 *     this process                          runner                    tasks
 *     ------------                          ------                    -----
 *     start(task)      --start-->           journal: intent
 *                                           spawn             -->     runs
 *                                           journal: started
 *     status running   <--answer--
 *     (killed)                              journal: ended    <--     exits
 *     (next process)   --hello-->
 *     status ended     <--all statuses--
 *
 * Calls reject with `runner-unreachable` without a runner, `runner-silent` if it hangs, `runner-version` if it is of
 * another release (all may be retried), and `runner-taken` once another server has attached. A call waits at most
 * `answerLimit` and the first attempts of an attachment.
 */
export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  return new ProcessRuntime(options);
}

class ProcessRuntime implements Runtime {
  readonly name = "process";
  readonly #options: ProcessRuntimeOptions;
  readonly #paths: RunnerPaths;
  readonly #mirror = new TaskMirror();
  /** Aborts with the reason why calls are refused from then on. */
  readonly #closed = new AbortController();
  readonly #patience: Patience;
  readonly #companions: Companions;
  /** The connection, the attempt to make one, or the failure that stands. Absent until a runner is needed. */
  #link: Promise<RunnerLink> | undefined;
  #attaching: Promise<RunnerLink> | undefined;
  #capabilities: RuntimeCapabilities | undefined;
  /** When the grace of a stopped task ends. A runner that adopts the task does not know of the stop. */
  readonly #killAt = new Map<string, Millis>();
  #trouble: string | undefined;
  #knockedAt: Millis = -Infinity;
  /** Code of the standing failure that was logged last. */
  #toldFailure: string | undefined;

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.#paths = runnerPaths(options.directory);
    this.#patience = new Patience(options.clock, this.#closed.signal);
    this.#companions = new Companions(`${options.directory}/companions`, options.clock);
    if (!isUsed(this.#paths)) return;
    this.#trouble = "the runner process is not attached yet";
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

  async interact(task: Task, options: InteractionOptions): Promise<Interaction> {
    this.#closed.signal.throwIfAborted();
    // The runner creates the directory.
    await (this.#link ??= this.#attach());
    return this.#companions.start(task, options);
  }

  async stop(id: string, grace: Millis): Promise<void> {
    if (this.#link === undefined) return;
    const killAt = this.#options.clock.monotonic() + grace;
    if (this.#mirror.find(id)?.state.phase === "running")
      this.#killAt.set(id, Math.min(killAt, this.#killAt.get(id) ?? killAt));
    await this.#call({ op: "stop", id, graceMs: grace });
  }

  async list(owner?: string): Promise<readonly TaskStatus[]> {
    await this.#link;
    return this.#mirror.list(owner);
  }

  find(id: string): TaskStatus | undefined {
    return this.#mirror.find(id);
  }

  async remove(ids: readonly string[]): Promise<void> {
    const ended = ids.filter((id) => this.#mirror.find(id)?.state.phase === "ended");
    if (ended.length === 0) return;
    await this.#call({ op: "remove", ids: ended });
    this.#mirror.remove(ended);
    for (const id of ended) this.#killAt.delete(id);
  }

  subscribe(listener: (status: TaskStatus) => void): Cancel {
    return this.#mirror.subscribe(listener);
  }

  trouble(): string | undefined {
    if (this.#closed.signal.aborted) return messageOf(this.#closed.signal.reason);
    this.#knock();
    return this.#trouble;
  }

  /** Detects a runner that began to hang while no calls were made. */
  #knock(): void {
    const now = this.#options.clock.monotonic();
    if (this.#link === undefined || this.#trouble !== undefined || now - this.#knockedAt < knockEvery) return;
    this.#knockedAt = now;
    void this.#call({ op: "remove", ids: [] }).catch(() => undefined);
  }

  async close(options: { readonly stopTasks?: Millis } = {}): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort(runtimeClosed(this.name));
    await this.#companions.close();
    // The attempt under way: a connection that it makes must be closed, too.
    const link = await this.#attaching?.catch(() => undefined);
    if (link === undefined) return;
    const { stopTasks } = options;
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
        this.#link ??= this.#attach();
        return await (await this.#link).call(call);
      } catch (thrown) {
        const isOver = !(thrown instanceof LinkLost) || thrown instanceof LinkSilent || attempt === mostAttempts;
        if (isOver) throw this.#asFailure(thrown);
      }
    }
  }

  #asFailure(thrown: unknown): unknown {
    if (thrown instanceof LinkSilent) return runnerSilent(this.#paths.directory, thrown);
    return thrown instanceof LinkLost ? runnerUnreachable(this.#paths.directory, thrown) : thrown;
  }

  #attach(): Promise<RunnerLink> {
    const attaching = this.#attachWithRetries();
    this.#attaching = attaching;
    // Calls see the failure until the next attempt is under way or, if it stands, has succeeded.
    attaching.catch((failure: unknown) => {
      if (this.#closed.signal.aborted) return;
      this.#tellFailure(failure);
      const isOther = codeOf(failure) === "runner-version";
      const pause = isOther ? versionRetries * (this.#options.runnerIdle ?? defaultIdle) : longestRetry;
      this.#options.clock.after(pause, () => this.#reattach(failure));
    });
    return attaching;
  }

  /** A standing failure is logged once, any other each time. */
  #tellFailure(failure: unknown): void {
    this.#trouble = messageOf(failure);
    const code = codeOf(failure);
    if (code !== undefined && code === this.#toldFailure) return;
    this.#toldFailure = standing.has(code) ? code : undefined;
    const { log } = this.#options;
    const hint = failure instanceof SlipwayError && failure.hint !== undefined ? { hint: failure.hint } : {};
    if (standing.has(code)) log.warn("steps cannot be started", { error: messageOf(failure), ...hint });
    else log.error("runner process is unreachable", { error: messageOf(failure) });
  }

  async #attachWithRetries(): Promise<RunnerLink> {
    const { signal } = this.#closed;
    const isRetryable = (thrown: unknown) => codeOf(thrown) !== "runner-version" && !(thrown instanceof LinkSilent);
    try {
      const pauses = { clock: this.#options.clock, first: firstRetry, longest: longestRetry };
      return await retry({ ...pauses, tries: mostAttempts, signal, isRetryable }, () => this.#attachOnce());
    } catch (thrown) {
      if (thrown === signal.reason || codeOf(thrown) === "runner-version") throw thrown;
      throw thrown instanceof LinkSilent
        ? runnerSilent(this.#paths.directory, thrown)
        : runnerUnreachable(this.#paths.directory, thrown);
    }
  }

  async #attachOnce(): Promise<RunnerLink> {
    // A break before `hello` is answered fails this attempt; a later one causes the next.
    let state: "new" | "welcome" | "replaced" = "new";
    const events: LinkEvents = {
      onEvent: (message) => {
        if (message.event === "replaced") state = "replaced";
        else this.#mirror.put(message.status);
      },
      onLost: (silence) => {
        if (state === "replaced") this.#replaced();
        else if (state === "welcome") this.#reattach(silence && runnerSilent(this.#paths.directory, silence));
      },
    };
    const link = await this.#connect(events);
    try {
      const hello = (await link.call({ op: "hello", protocol: protocolVersion })) as Hello;
      if (hello.protocol !== protocolVersion) {
        // Released, it ends with its last task.
        await link.call({ op: "release" }).catch(() => undefined);
        throw runnerVersion(this.#paths.directory, hello.protocol, protocolVersion);
      }
      state = "welcome";
      this.#toldFailure = undefined;
      this.#trouble = undefined;
      this.#synchronize(hello.tasks);
      this.#repeatStops(link);
      return link;
    } catch (thrown) {
      await link.close();
      throw thrown;
    }
  }

  /** Connects to the running runner, or starts one. */
  async #connect(events: LinkEvents): Promise<RunnerLink> {
    const paths = this.#paths;
    try {
      return await RunnerLink.connect(paths.socket, this.#patience, events);
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT" && codeOf(thrown) !== "ECONNREFUSED") throw thrown;
    }
    const { nodePath, runnerPath, runnerIdle = defaultIdle } = this.#options;
    await launchRunner({ nodePath, runnerPath, paths, idleMs: runnerIdle, patience: this.#patience });
    return RunnerLink.connect(paths.socket, this.#patience, events);
  }

  #replaced(): void {
    if (!this.#closed.signal.aborted) this.#closed.abort(runnerTaken(this.#paths.directory));
  }

  /** `failure` is why the connection was lost, if known. A standing one is what calls see until an attempt succeeds. */
  #reattach(failure?: unknown): void {
    if (this.#closed.signal.aborted) return;
    const isStanding = standing.has(codeOf(failure));
    if (isStanding) this.#tellFailure(failure);
    else {
      this.#trouble = "the connection to the runner process is lost";
      this.#options.log.warn("lost the connection to the runner process; reconnecting");
    }
    const attaching = this.#attach();
    if (!isStanding) {
      this.#link = attaching;
      return;
    }
    const refused = Promise.reject<RunnerLink>(failure);
    refused.catch(() => undefined); // Calls are told, if there are any.
    this.#link = refused;
    const settle = () => void (this.#link = attaching);
    attaching.then(settle, settle);
  }

  #repeatStops(link: RunnerLink): void {
    for (const [id, killAt] of this.#killAt) {
      if (this.#mirror.find(id)?.state.phase !== "running") continue;
      const graceMs = Math.max(0, killAt - this.#options.clock.monotonic());
      link.call({ op: "stop", id, graceMs }).catch(() => undefined);
    }
  }

  /** Applies what changed while disconnected; a task unknown to the runner is lost. */
  #synchronize(tasks: readonly TaskStatus[]): void {
    const present = new Set(tasks.map((task) => task.id));
    for (const task of tasks) this.#mirror.put(task);
    for (const { id, state } of this.#mirror.list()) {
      if (present.has(id)) continue;
      const startedAt = state.phase === "running" ? { startedAt: state.startedAt } : {};
      const message = "the runner process has no record of it";
      const outcome = { kind: "lost", message, ...startedAt, finishedAt: this.#options.clock.now() } as const;
      this.#mirror.put({ id, state: { phase: "ended", outcome } });
    }
  }
}

/** Whether a runner listens here or has left tasks. If the files cannot be read, the runner reports why. */
function isUsed(paths: RunnerPaths): boolean {
  try {
    return existsSync(paths.socket) || Journal.hasTasks(paths.journal);
  } catch {
    return true;
  }
}
