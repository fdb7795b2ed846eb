// Long, because starting, ending, watching and adopting a task share its state.
import {
  type Cancel,
  type Clock,
  deferred,
  getOrAdd,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Logger,
  messageOf,
  type Millis,
  orAborted,
  sleep,
} from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import type { IncomingMessage } from "node:http";
import { dirname } from "node:path";
import type { ContainerHost, Runtime, RuntimeCapabilities, Task, TaskOutcome, TaskStatus } from "../contract.ts";
import { runtimeClosed } from "../errors.ts";
import { maskedValues, withoutMasked } from "../masked-values.ts";
import { TaskMirror } from "../task-mirror.ts";
import { type Owner, taskContainer } from "./container-config.ts";
import { type EngineAddress, isLocal } from "./engine/engine-address.ts";
import { EngineClient } from "./engine/engine-client.ts";
import { EngineRefusal, isRefusal } from "./engine/engine-errors.ts";
import { jsonLines } from "./engine/json-lines.ts";
import { execIn } from "./exec.ts";
import { interactIn } from "./interact.ts";
import { findImage, pullImage } from "./images.ts";
import { engineName, labels } from "./names.ts";
import { attachOutput, maskedIn, maskMessageOf, type Output, readBackOutput } from "./output.ts";
import { type ContainerLife, endedUnheard, lifeOf, mayHaveRunOutOfMemory, notStarted, outcomeOf } from "./outcome.ts";
import { labelsOf, Sandboxes } from "./sandboxes.ts";

export interface DockerRuntimeOptions {
  readonly address: EngineAddress;
  readonly version: string;
  /** Identity of the control plane for its whole life: containers are found by it. */
  readonly store: string;
  /** This process, if the control plane ends with it: marks leftovers; closing with `stopTasks` removes everything. */
  readonly owner?: string;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Known {
  readonly name: string;
  readonly logPath: string;
  readonly sandbox: string;
  /** Values masked in its output. */
  masked?: readonly string[];
  output?: Output;
  /** While the log is being rewritten: it has one writer. */
  readingBack?: Promise<Output>;
  /** Its output had ended at the last look, although it was running. */
  isCut?: true;
  cancelLook?: Cancel;
  /** When the shortest grace so far is over, by the monotonic clock. */
  killAt?: Millis;
  cancelKill?: Cancel;
  /** We have sent KILL. */
  isKilled?: true;
  /** The kernel has killed a process of it for its use of memory. */
  isOutOfMemory?: true;
  onOutOfMemory?: () => void;
}

// Between attempts to read the engine's events.
const firstRetry: Millis = 100;
const longestRetry: Millis = 5_000;
/** How late the report of an out-of-memory kill comes: 60 ms were seen on a busy machine. */
const memoryWord: Millis = 500;
/** Before a running container whose output has ended is looked at again: the engine notes an end a little later. */
const secondLook: Millis = 1_000;
/** How long an engine may take to stop containers beyond their grace before closing gives up. */
const engineMs: Millis = 10_000;
/** How long it may take to remove everything of this process. */
const removalMs: Millis = 60_000;

/**
 * Runs tasks as containers of a Docker Engine. The engine is the memory: a task's container has a name made of its id,
 * which the engine gives only once, and stays until the task is removed.
 *
 *     this process                            engine                       container
 *     ------------                            ------                       ---------
 *     start(task)        create NAME -->      refused when it exists
 *                        attach      -->      output, from the first byte
 *                        start       -->                                   runs
 *     status running
 *     (killed)                                output is kept, too          goes on
 *     (next process)     events, list -->     all of this store
 *                        logs         -->     our log, written anew
 *     status ended       inspect      <--     exit code and times          exited
 *
 * While the engine is away calls reject with `engine-unreachable`; when it is back everything is looked at again. A
 * container that somebody else has removed is reported lost.
 */
export function createDockerRuntime(options: DockerRuntimeOptions): Runtime {
  return new DockerRuntime(options);
}

class DockerRuntime implements Runtime {
  readonly name = "docker";
  readonly containers: ContainerHost;
  readonly #options: DockerRuntimeOptions;
  readonly #engine: EngineClient;
  readonly #owner: Owner;
  readonly #sandboxes: Sandboxes;
  readonly #mirror = new TaskMirror();
  readonly #known = new Map<string, Known>();
  /** By task. */
  readonly #starting = new Map<string, Promise<TaskStatus>>();
  readonly #finishing = new Map<string, Promise<void>>();
  /** Tasks that are being looked at and must be looked at again. */
  readonly #again = new Set<string>();
  readonly #closed = new AbortController();
  /** Resolves when the engine's containers are known. */
  readonly #attached = deferred<void>();
  #isAttached = false;
  readonly #watching: Promise<void>;
  /** Why the engine's events are not read; undefined while they are. */
  #trouble: string | undefined = "the Docker Engine has not answered yet";

  constructor(options: DockerRuntimeOptions) {
    this.#options = options;
    this.#engine = new EngineClient(options.address, options.clock);
    this.#owner = { store: options.store, ...(options.owner === undefined ? {} : { process: options.owner }) };
    this.#sandboxes = new Sandboxes(this.#engine, this.#owner);
    this.containers = this.#containerHost();
    // Callers get the rejection.
    this.#attached.promise.catch(() => undefined);
    this.#watching = this.#watch();
  }

  /** Mounts need an engine that sees this machine's files. */
  capabilities(): Promise<RuntimeCapabilities> {
    const mounts = isLocal(this.#options.address)
      ? ({ supported: true } as const)
      : ({
          supported: false,
          reason: `the engine at ${this.#engine.address} does not see this machine's files`,
        } as const);
    return Promise.resolve({ images: true, mounts, users: true, limits: true });
  }

  /** Idempotent by the id, from which the container's name follows: the engine refuses a second one. */
  async start(task: Task): Promise<TaskStatus> {
    await this.#ready();
    const known = this.#mirror.find(task.id);
    if (known !== undefined && known.state.phase !== "starting") return known;
    return getOrAdd(this.#starting, task.id, () => this.#startNow(task).finally(() => this.#starting.delete(task.id)));
  }

  /** Resolves when stopping has begun. Only a shorter grace counts. Ended and unknown tasks are ignored. */
  async stop(id: string, grace: Millis): Promise<void> {
    await this.#ready();
    await this.#starting.get(id)?.catch(() => undefined);
    await this.#stopKnown(id, grace);
  }

  /** Waits for the first contact with the engine: before that an empty list would be wrong. */
  async list(owner?: string): Promise<readonly TaskStatus[]> {
    await this.#attached.promise;
    return this.#mirror.list(owner);
  }

  /** Undefined for tasks of other stores. */
  find(id: string): TaskStatus | undefined {
    return this.#mirror.find(id);
  }

  /** Removes the containers of ended tasks; others are ignored. */
  async remove(ids: readonly string[]): Promise<void> {
    const ended = ids.filter((id) => this.#mirror.find(id)?.state.phase === "ended");
    if (ended.length === 0) return;
    await this.#ready();
    await Promise.all(ended.map((id) => this.#removeContainer(this.#known.get(id)?.name ?? this.#nameOf(id))));
    for (const id of ended) this.#known.delete(id);
    this.#mirror.remove(ended);
  }

  subscribe(listener: (status: TaskStatus) => void): Cancel {
    return this.#mirror.subscribe(listener);
  }

  trouble(): string | undefined {
    return this.#trouble;
  }

  /** Tasks continue unless `stopTasks` gives them a grace. May be called again. Failures are logged. */
  async close({ stopTasks }: { readonly stopTasks?: Millis } = {}): Promise<void> {
    if (this.#closed.signal.aborted) return;
    if (stopTasks !== undefined)
      await this.#within(stopTasks + engineMs + removalMs, this.#endAll(stopTasks)).catch((thrown: unknown) =>
        this.#warn("containers cannot be ended", thrown),
      );
    this.#closed.abort(runtimeClosed(this.name));
    this.#attached.reject(runtimeClosed(this.name));
    for (const known of this.#known.values()) {
      known.cancelKill?.();
      known.cancelLook?.();
      known.output?.close();
    }
    await this.#watching;
    await this.#within(engineMs, this.#sandboxes.releaseNetwork()).catch((thrown: unknown) =>
      this.#warn("the network cannot be removed", thrown),
    );
    this.#engine.close();
  }

  /** Rejects once this runtime is closed. */
  async #ready(): Promise<void> {
    this.#closed.signal.throwIfAborted();
    await this.#attached.promise;
  }

  readonly #nameOf = (id: string): string => engineName(this.#options.store, id);

  #warn(message: string, thrown: unknown): void {
    this.#options.log.warn(message, { error: messageOf(thrown) });
  }

  /** Attaches to the output before the start. A refused start (missing program) ends the task, not the call. */
  async #startNow(task: Task): Promise<TaskStatus> {
    const { clock } = this.#options;
    const name = this.#nameOf(task.id);
    const life = await this.#create(task, name);
    const known: Known = { name, logPath: task.logPath, sandbox: task.container?.sandbox ?? "" };
    this.#known.set(task.id, known);
    if (life !== undefined && life.startedAt !== undefined) return this.#adopt(task.id, known, life);
    this.#mirror.put({ id: task.id, state: { phase: "starting" } });
    await makeDirectories(dirname(task.logPath), 0o750);
    const masked = maskedValues(task.maskedVariables ?? [], task.env);
    known.masked = masked;
    known.output = await attachOutput(this.#engine, name, { path: task.logPath, masked }, clock);
    try {
      await this.#engine.call("POST", `/containers/${name}/start`);
    } catch (thrown) {
      await this.#letGo(known);
      if (!(thrown instanceof EngineRefusal) || thrown.status === 404) throw thrown;
      return this.#put(task.id, notStarted(withoutMasked(task, thrown.message), clock.now()));
    }
    const container = await this.#inspect(name).catch(async (thrown: unknown) => {
      await this.#letGo(known);
      throw thrown;
    });
    const { startedAt = clock.now() } = lifeOf(container);
    this.#noteRunning(task.id, startedAt);
    void known.output.done.then(() => this.#lookAtEnd(task.id));
    return this.#mirror.find(task.id) ?? { id: task.id, state: { phase: "running", startedAt } };
  }

  /** The log must have one writer, and the next one rewrites it. */
  async #letGo(known: Known): Promise<void> {
    const { output } = known;
    output?.close();
    await output?.done;
    if (known.output === output) delete known.output;
  }

  /** Creates the container. Returns the state of an existing one. */
  async #create(task: Task, name: string): Promise<ContainerLife | undefined> {
    const setup = task.container;
    if (setup === undefined) throw new Error(`task ${task.id} says nothing of a container`);
    const sandbox = this.#sandboxes.find(setup.sandbox);
    if (sandbox === undefined) throw new Error(`sandbox ${setup.sandbox} is not open`);
    try {
      const body = taskContainer(task, setup, sandbox, this.#owner);
      await this.#engine.call("POST", "/containers/create", { query: { name }, body });
      return undefined;
    } catch (thrown) {
      if (!isRefusal(thrown, 409)) throw thrown;
      return lifeOf(await this.#inspect(name));
    }
  }

  /** Listeners are told once. */
  #put(id: string, outcome: TaskOutcome): TaskStatus {
    const status: TaskStatus = { id, state: { phase: "ended", outcome } };
    this.#mirror.put(status);
    return this.#mirror.find(id) ?? status;
  }

  async #stopKnown(id: string, grace: Millis): Promise<void> {
    const known = this.#known.get(id);
    const phase = this.#mirror.find(id)?.state.phase;
    if (known === undefined || phase === undefined || phase === "ended") return;
    if (phase === "starting") {
      // It was created and never started.
      await this.#removeContainer(known.name);
      this.#put(id, notStarted("it was stopped before it was started", this.#options.clock.now()));
      return;
    }
    const { clock } = this.#options;
    const killAt = clock.monotonic() + Math.max(0, grace);
    if (known.killAt !== undefined && known.killAt <= killAt) return;
    const isFirst = known.killAt === undefined;
    known.killAt = killAt;
    known.cancelKill?.();
    if (grace > 0) known.cancelKill = clock.after(grace, () => void this.#killInTheEnd(id, known));
    try {
      if (grace <= 0) await this.#kill(known, "SIGKILL");
      else if (isFirst) await this.#kill(known, stopSignal(await this.#inspect(known.name)));
    } catch (thrown) {
      // The engine may not have received it: the next call must try again.
      if (known.killAt === killAt) delete known.killAt;
      throw thrown;
    }
  }

  /** Retries while the engine is away. Never rejects. */
  async #killInTheEnd(id: string, known: Known): Promise<void> {
    const { signal } = this.#closed;
    for (
      let wait = firstRetry;
      this.#mirror.find(id)?.state.phase === "running";
      wait = Math.min(2 * wait, longestRetry)
    ) {
      try {
        return await this.#kill(known, "SIGKILL");
      } catch (thrown) {
        this.#warn("a container cannot be killed, trying again", thrown);
      }
      await sleep(this.#options.clock, wait, signal).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  /** A container that has ended or is gone is no error. */
  async #kill(known: Known, signal: string): Promise<void> {
    if (signal === "SIGKILL") known.isKilled = true;
    try {
      await this.#engine.call("POST", `/containers/${known.name}/kill`, { query: { signal } });
    } catch (thrown) {
      if (!isRefusal(thrown, 409) && !isRefusal(thrown, 404)) throw thrown;
    }
  }

  /** A task may have ended: looks at it, one look at a time, and again if this was called meanwhile. */
  #lookAtEnd(id: string): void {
    if (this.#closed.signal.aborted) return;
    if (this.#finishing.has(id)) return void this.#again.add(id);
    const finishing = this.#finish(id)
      .catch((thrown: unknown) => {
        this.#options.log.debug("a container cannot be looked at", { error: messageOf(thrown) });
        this.#lookLater(id, longestRetry);
      })
      .finally(() => {
        this.#finishing.delete(id);
        if (this.#again.delete(id)) this.#lookAtEnd(id);
      });
    this.#finishing.set(id, finishing);
  }

  #lookLater(id: string, delay: Millis): void {
    const known = this.#known.get(id);
    if (known === undefined || this.#closed.signal.aborted) return;
    known.cancelLook?.();
    known.cancelLook = this.#options.clock.after(delay, () => this.#lookAtEnd(id));
  }

  /** The output's connection broke, or the container closed its outputs: continues from the engine's copy. */
  async #readOn(id: string, known: Known, life: ContainerLife): Promise<void> {
    if (known.output?.isDone === false) return;
    if (known.output !== undefined && known.isCut === undefined) {
      known.isCut = true;
      return this.#lookLater(id, secondLook);
    }
    delete known.isCut;
    delete known.output;
    await this.#adopt(id, known, life);
  }

  /** Looks before and after the rest of the output: an ended container is reported with all its output. */
  async #finish(id: string): Promise<void> {
    const known = this.#known.get(id);
    if (known === undefined || this.#mirror.find(id)?.state.phase === "ended") return;
    let note: string | undefined;
    try {
      const { output } = known;
      const life = lifeOf(await this.#inspect(known.name));
      if (life.isRunning) return await this.#readOn(id, known, life);
      if (output === undefined) return void (await this.#adopt(id, known, life));
      note = await output.done;
      // Only now it is certain that the engine did not go away during the output.
      const container = await this.#inspect(known.name);
      note = joinNotes(note, await maskMessageOf(container));
      this.#end(id, known, await this.#withCause(known, lifeOf(container)), note);
    } catch (thrown) {
      if (isRefusal(thrown, 404)) return this.#lose(id, known);
      // The connection may have ended with the engine.
      if (known.output?.isDone === true) delete known.output;
      throw thrown;
    }
  }

  /** Completes an ended container's life: the engine may report a kill for memory later, in events only, or never. */
  async #withCause(known: Known, life: ContainerLife): Promise<ContainerLife> {
    if (!mayHaveRunOutOfMemory(life) || known.isKilled === true) return life;
    if (endedUnheard(life)) return { ...life, outOfMemory: true };
    if (known.isOutOfMemory !== true) {
      const heard = new AbortController();
      known.onOutOfMemory = () => heard.abort();
      const signal = AbortSignal.any([heard.signal, this.#closed.signal]);
      await sleep(this.#options.clock, memoryWord, signal).catch(() => undefined);
      delete known.onOutOfMemory;
    }
    return known.isOutOfMemory === true ? { ...life, outOfMemory: true } : life;
  }

  /** The engine may report the end of a short task before it has answered the start. */
  #noteRunning(id: string, startedAt: number): void {
    if (this.#mirror.find(id)?.state.phase === "starting")
      this.#mirror.put({ id, state: { phase: "running", startedAt } });
  }

  /** Listeners hear of the start before the end. */
  #end(id: string, known: Known, life: ContainerLife, note: string | undefined): void {
    known.cancelKill?.();
    known.cancelLook?.();
    this.#noteRunning(id, life.startedAt ?? this.#options.clock.now());
    this.#put(id, outcomeOf(life, this.#options.clock.now(), note));
  }

  #lose(id: string, known: Known): void {
    known.cancelKill?.();
    known.cancelLook?.();
    const state = this.#mirror.find(id)?.state;
    const startedAt = state?.phase === "running" ? { startedAt: state.startedAt } : {};
    const message = "its container was removed by another program";
    this.#put(id, { kind: "lost", message, ...startedAt, finishedAt: this.#options.clock.now() });
  }

  /** Reads the engine's events until closed; looks at all containers when a connection begins. */
  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    let delay = firstRetry;
    while (!signal.aborted) {
      let events: IncomingMessage | undefined;
      try {
        events = await this.#engine.stream("GET", "/events", { query: { filters: this.#eventFilter() }, signal });
        await orAborted(this.#synchronize(), signal);
        this.#isAttached = true;
        this.#attached.resolve();
        this.#trouble = undefined;
        delay = firstRetry;
        for await (const event of jsonLines(events)) this.#heed(event);
        this.#trouble = "the connection to the Docker Engine has ended";
      } catch (thrown) {
        if (signal.aborted) return;
        this.#trouble = messageOf(thrown);
        this.#warn("the Docker Engine cannot be heard, trying again", thrown);
      } finally {
        // A connection left open for each try would pile up.
        events?.destroy();
      }
      await sleep(this.#options.clock, delay, signal).catch(() => undefined);
      delay = Math.min(2 * delay, longestRetry);
    }
  }

  /** A busy engine reports thousands of other events. */
  #eventFilter(): string {
    return JSON.stringify({
      type: ["container"],
      event: ["die", "destroy", "oom"],
      label: [`${labels.store}=${this.#options.store}`],
    });
  }

  /** An event is a hint to look: it may come twice, or be missed. */
  #heed(event: JsonValue): void {
    const actor = isJsonObject(event) ? event["Actor"] : undefined;
    const attributes = isJsonObject(actor) ? actor["Attributes"] : undefined;
    if (!isJsonObject(attributes)) return;
    const task = attributes[labels.task];
    if (typeof task === "string") {
      const isOfMemory = isJsonObject(event) && event["Action"] === "oom";
      return isOfMemory ? this.#noteOutOfMemory(task) : this.#lookAtEnd(task);
    }
    const sandbox = attributes[labels.sandbox];
    if (typeof sandbox === "string") this.#loseSandbox(sandbox);
  }

  #noteOutOfMemory(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    known.isOutOfMemory = true;
    known.onOutOfMemory?.();
  }

  /** No container can join a sandbox without its pause container: all of them start anew. */
  #loseSandbox(sandbox: string): void {
    this.#sandboxes.noteEnded(sandbox);
    for (const known of this.#known.values()) {
      if (known.sandbox !== sandbox) continue;
      void this.#kill(known, "SIGKILL").catch((thrown: unknown) => this.#warn("a container cannot be killed", thrown));
    }
  }

  /** Catches up with the engine. */
  async #synchronize(): Promise<void> {
    const filters = JSON.stringify({ label: [`${labels.store}=${this.#options.store}`] });
    const answer = await this.#engine.call("GET", "/containers/json", { query: { all: "1", filters } });
    const present = new Set<string>();
    const running = new Set<string>();
    for (const container of Array.isArray(answer) ? answer.filter(isJsonObject) : []) {
      const { [labels.task]: id, [labels.sandbox]: sandbox = "", [labels.log]: logPath = "" } = labelsOf(container);
      if (id === undefined) {
        if (container["State"] === "running") running.add(sandbox);
        if (container["State"] === "running") this.#sandboxes.noteRunning(sandbox, container);
        else this.#sandboxes.noteEnded(sandbox);
        continue;
      }
      present.add(id);
      if (this.#starting.has(id) || this.#mirror.find(id)?.state.phase === "ended") continue;
      const known = getOrAdd(this.#known, id, () => ({ name: this.#nameOf(id), logPath, sandbox }));
      await this.#adopt(id, known, lifeOf(await this.#inspect(known.name)));
    }
    for (const [id, known] of this.#known) {
      if (!present.has(id) && !this.#starting.has(id) && this.#mirror.find(id)?.state.phase === "running")
        this.#lose(id, known);
      else if (known.sandbox !== "" && !running.has(known.sandbox)) this.#sandboxes.noteEnded(known.sandbox);
    }
  }

  /** Takes over a container that this process did not start, or lost sight of. Its log is rewritten. */
  async #adopt(id: string, known: Known, life: ContainerLife): Promise<TaskStatus> {
    const { clock } = this.#options;
    if (life.startedAt === undefined) {
      if (life.error !== "" || life.exitCode !== 0) return this.#put(id, notStarted(life.error, clock.now()));
      const made: TaskStatus = { id, state: { phase: "starting" } };
      this.#mirror.put(made);
      return made;
    }
    const output = await this.#outputOf(known);
    this.#mirror.put({ id, state: { phase: "running", startedAt: life.startedAt } });
    if (life.isRunning) void output.done.then(() => this.#lookAtEnd(id));
    else {
      const note = joinNotes(await output.done, await maskMessageOf(await this.#inspect(known.name)));
      this.#end(id, known, await this.#withCause(known, life), note);
    }
    return this.#mirror.find(id) ?? { id, state: { phase: "running", startedAt: life.startedAt } };
  }

  async #outputOf(known: Known): Promise<Output> {
    if (known.output !== undefined) return known.output;
    known.readingBack ??= this.#readBack(known).finally(() => delete known.readingBack);
    known.output = await known.readingBack;
    return known.output;
  }

  async #readBack(known: Known): Promise<Output> {
    const { name, logPath } = known;
    const masked = (known.masked = maskedIn(await this.#inspect(name)));
    return readBackOutput(this.#engine, name, { path: logPath, masked }, this.#options.clock);
  }

  /** 404 if it was removed. */
  #inspect(name: string): Promise<JsonObject> {
    return this.#engine.object("GET", `/containers/${name}/json`);
  }

  /** With its anonymous volumes. */
  async #removeContainer(name: string): Promise<void> {
    try {
      await this.#engine.call("DELETE", `/containers/${name}`, { query: { force: "1", v: "1" } });
    } catch (thrown) {
      // 409: it is being removed.
      if (!isRefusal(thrown, 404) && !isRefusal(thrown, 409)) throw thrown;
    }
  }

  /** Rejects if an engine takes connections but does not answer. */
  async #within<T>(ms: Millis, work: Promise<T>): Promise<T> {
    const late = new AbortController();
    const cancel = this.#options.clock.after(ms, () =>
      late.abort(new Error(`the engine at ${this.#engine.address} did not answer within ${ms / 1000} s`)),
    );
    return await orAborted(work, late.signal).finally(cancel);
  }

  /** Stops all tasks; with an `owner` removes everything. */
  async #endAll(grace: Millis): Promise<void> {
    // This process has started nothing then.
    if (!this.#isAttached) throw new Error(this.#trouble ?? "the engine has not answered");
    await Promise.all([...this.#known.keys()].map((id) => this.#stopKnown(id, grace)));
    await this.#allEnded(grace + engineMs);
    if (this.#options.owner === undefined) return;
    await this.remove([...this.#known.keys()]);
    for (const id of await this.#sandboxes.list()) await this.#sandboxes.close(id);
  }

  /** Gives up after so long: an engine that went away reports no end. */
  async #allEnded(ms: Millis): Promise<void> {
    const ends = Promise.all([...this.#known.keys()].map((id) => this.#ended(id)));
    let giveUp: Cancel | undefined;
    const isLate = new Promise<void>((resolve) => {
      giveUp = this.#options.clock.after(ms, resolve);
    });
    await Promise.race([ends, isLate]);
    giveUp?.();
  }

  #ended(id: string): Promise<void> {
    return new Promise((resolve) => {
      const look = (status: TaskStatus | undefined) => {
        if (status !== undefined && (status.id !== id || status.state.phase !== "ended")) return;
        cancel();
        resolve();
      };
      const cancel = this.#mirror.subscribe(look);
      look(this.#mirror.find(id));
    });
  }

  /** What the Pod runner needs beyond running tasks. */
  #containerHost(): ContainerHost {
    const sandboxes = this.#sandboxes;
    const engine = this.#engine;
    return {
      version: this.#options.version,
      openSandbox: async (sandbox) => {
        await this.#ready();
        return sandboxes.open(sandbox);
      },
      addressOf: (id) => sandboxes.addressOf(id),
      sandboxes: () => sandboxes.list(),
      rename: (id, names) => sandboxes.rename(id, names),
      closeSandbox: (id) => sandboxes.close(id),
      get hostAddress() {
        return sandboxes.hostAddress;
      },
      findImage: (image) => findImage(engine, image),
      pull: (image, logins, signal) => pullImage(engine, image, logins, signal),
      exec: (task, command, signal) =>
        execIn(engine, this.#nameOf(task), command, signal, this.#known.get(task)?.masked),
      interact: (task, command, options) =>
        interactIn(engine, this.#nameOf(task), command, options, this.#options.clock),
    };
  }
}

const joinNotes = (...notes: readonly (string | undefined)[]): string | undefined =>
  notes.filter((note) => note !== undefined).join("; ") || undefined;

function stopSignal(container: JsonObject): string {
  const config = container["Config"];
  const signal = isJsonObject(config) ? config["StopSignal"] : undefined;
  return typeof signal === "string" && signal !== "" ? signal : "SIGTERM";
}
