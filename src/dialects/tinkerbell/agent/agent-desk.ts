import {
  type Clock,
  deferred,
  type Logger,
  messageOf,
  type Millis,
  onAbort,
  type Random,
  sleep,
} from "#lib/base/index.ts";
import type { ActionRuntime } from "./action-runtime.ts";
import { advance, type AgentState, type Effect, type Input } from "./agent-state.ts";
import { retryDelay } from "./backoff.ts";
import type { Journal } from "./journal.ts";
import type { LogPusher } from "./log-pusher.ts";
import { type Execution, isSameExecution } from "./work.ts";

const removalPatience: Millis = 5_000;

export interface DeskOptions {
  readonly runtime: ActionRuntime;
  readonly logs?: Pick<LogPusher, "began" | "ended">;
  readonly journal: Journal;
  readonly stopGrace: Millis;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Applies inputs one at a time: a state is durable before its effects start. Failed effects are retried for ever. */
export class AgentDesk {
  readonly #options: DeskOptions;
  #state: AgentState;
  #turn: Promise<void> = Promise.resolve();
  #changed = deferred<void>();
  /** Ends waits and retries; running actions go on. */
  readonly #closed = new AbortController();
  /** A stop aborts the preparation. */
  #preparing:
    | { readonly execution: Execution; readonly abort: AbortController; readonly done: Promise<void> }
    | undefined;

  readonly #discards = new Set<Promise<void>>();

  private constructor(options: DeskOptions, state: AgentState) {
    this.#options = options;
    this.#state = state;
  }

  /** Resumes from the journal, once the running action's state is known. Closes if the signal aborts before. */
  static async open(options: DeskOptions, signal: AbortSignal): Promise<AgentDesk> {
    const desk = new AgentDesk(options, await options.journal.read());
    const forget = onAbort(signal, () => desk.#closed.abort(new Error("the agent ends")));
    const { effects } = advance(desk.#state, { is: "restarted" });
    for (const effect of effects) await desk.#begin(effect);
    forget();
    return desk;
  }

  get state(): AgentState {
    return this.#state;
  }

  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Resolves when the input is durable and its effects have begun. Never rejects; ignored after `close`. */
  put(input: Input): Promise<void> {
    return (this.#turn = this.#turn.then(() => this.#take(input)));
  }

  /** Running actions go on. Removals get a moment, because a local run has no next process to sweep. */
  async close(): Promise<void> {
    this.#closed.abort(new Error("the agent ends"));
    await this.#turn;
    if (this.#discards.size === 0) return;
    const removed = new AbortController();
    const limit = sleep(this.#options.clock, removalPatience, removed.signal).catch(() => undefined);
    await Promise.race([Promise.all(this.#discards), limit]);
    removed.abort();
  }

  async #take(input: Input): Promise<void> {
    const { state, effects } = advance(this.#state, input);
    if (state !== this.#state) {
      const isWritten = await this.#persist("the journal cannot be written", () => this.#options.journal.write(state));
      if (isWritten === undefined) return;
      this.#state = state;
      const { resolve } = this.#changed;
      this.#changed = deferred();
      resolve();
    }
    for (const effect of effects) void this.#begin(effect);
  }

  /** Retries until it works. Undefined if the desk was closed or the signal aborted before. */
  async #persist<T>(
    trouble: string,
    work: () => Promise<T>,
    until?: AbortSignal,
  ): Promise<{ readonly value: T } | undefined> {
    const { clock, random, log } = this.#options;
    const closed = this.#closed.signal;
    const signal = until === undefined ? closed : AbortSignal.any([until, closed]);
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return { value: await work() };
      } catch (thrown) {
        if (signal.aborted) return undefined;
        log.error(trouble, { error: messageOf(thrown) });
        await sleep(clock, retryDelay(failures, random), signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  async #begin(effect: Effect): Promise<void> {
    switch (effect.do) {
      case "prepare":
        return void this.#prepare(effect.execution);
      case "run":
        return void this.#run(effect.execution, effect.handle);
      case "recover":
        return this.#recover(effect.execution, effect.handle);
      case "stop":
        return void this.#stop(effect.execution);
      case "discard":
        return this.#discard(effect.execution);
      case "sweep":
        return this.#sweep(effect.keep);
    }
  }

  /** A stop aborts it; its result is then ignored. */
  async #prepare(execution: Execution): Promise<void> {
    const { runtime, log } = this.#options;
    const abort = new AbortController();
    const done = deferred<void>();
    const preparing = { execution, abort, done: done.promise };
    this.#preparing = preparing;
    const { name, image } = execution.action;
    log.info("preparing an action", { workflow: execution.workflow, action: name, image, attempt: execution.attempt });
    await this.#options.logs?.began(execution);
    const work = () => runtime.prepare(execution, abort.signal);
    const prepared = await this.#persist("an action cannot be prepared", work, abort.signal);
    if (this.#preparing === preparing) this.#preparing = undefined;
    done.resolve();
    if (prepared === undefined) return this.#options.logs?.ended(execution);
    const { value } = prepared;
    if (value.is !== "prepared") this.#options.logs?.ended(execution);
    if (value.is === "prepared") await this.put({ is: "prepared", execution, handle: value.handle });
    else await this.put({ is: "ended", execution, ending: value });
  }

  /** A watch that fails, such as when the engine restarts, is repeated. */
  async #run(execution: Execution, handle: string): Promise<void> {
    const { runtime, log, logs } = this.#options;
    await logs?.began(execution);
    const ended = await this.#persist("an action cannot be watched", () => runtime.run(execution, handle));
    if (ended === undefined) return;
    logs?.ended(execution);
    const { action, workflow } = execution;
    log.info("an action has ended", { workflow, action: action.name, ...ended.value });
    await this.put({ is: "ended", execution, ending: ended.value });
  }

  /** An engine that is away is waited for: only an action that is certainly gone counts as interrupted. */
  async #recover(execution: Execution, handle: string): Promise<void> {
    const { runtime, log } = this.#options;
    const found = await this.#persist("an action cannot be looked for", () => runtime.isGone(execution, handle));
    if (found === undefined) return;
    if (!found.value) return void this.#run(execution, handle);
    log.warn("an action was interrupted", { workflow: execution.workflow, action: execution.action.name });
    await this.put({ is: "gone", execution });
  }

  /** Waits for the preparation, so that the stop finds its container. */
  async #stop(execution: Execution): Promise<void> {
    const { runtime, stopGrace, log } = this.#options;
    log.info("ending an action", { workflow: execution.workflow, action: execution.action.name });
    const preparing = this.#preparing;
    if (preparing !== undefined && isSameExecution(preparing.execution, execution)) {
      preparing.abort.abort(new Error("the action was stopped"));
      await preparing.done;
    }
    const stopped = await this.#persist("an action cannot be ended", () => runtime.stop(execution, stopGrace));
    if (stopped !== undefined) await this.put({ is: "stopped", execution });
  }

  async #discard(execution: Execution): Promise<void> {
    const { runtime, log } = this.#options;
    const discarded = runtime
      .discard(execution)
      .catch((thrown: unknown) => log.warn("what an action has left cannot be removed", { error: messageOf(thrown) }));
    this.#discards.add(discarded);
    await discarded;
    this.#discards.delete(discarded);
  }

  /** Awaited, so that it never removes what a later input created. */
  async #sweep(keep: Execution | undefined): Promise<void> {
    await this.#persist("what an earlier process has left cannot be removed", () => this.#options.runtime.sweep(keep));
  }
}
