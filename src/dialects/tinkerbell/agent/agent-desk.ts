import { type Clock, deferred, type Logger, messageOf, type Millis, type Random, sleep } from "#lib/base/index.ts";
import type { ActionRuntime } from "./action-runtime.ts";
import { advance, type AgentState, type Effect, type Input } from "./agent-state.ts";
import { retryDelay } from "./backoff.ts";
import type { Journal } from "./journal.ts";
import type { LogPusher } from "./log-pusher.ts";
import { type Execution, isSameExecution } from "./work.ts";

/** What has ended is removed within this when the agent is to end, or left where it is. */
const removalPatience: Millis = 5_000;

export interface DeskOptions {
  readonly runtime: ActionRuntime;
  /** Is told which logs are written to. */
  readonly logs?: Pick<LogPusher, "began" | "ended">;
  readonly journal: Journal;
  /** Time an action has to end by itself when it is stopped. */
  readonly stopGrace: Millis;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Carries out what the machine decides: takes inputs one after the other, makes each state durable, and only then begins its effects, whose
 * answers are inputs again. What the world refuses is tried again for ever: a full disk or an engine that restarts is no reason to lose an
 * action.
 */
export class AgentDesk {
  readonly #options: DeskOptions;
  #state: AgentState;
  /** The last input that was put; each waits for the one before. */
  #turn: Promise<void> = Promise.resolve();
  #changed = deferred<void>();
  /** Ends waits and retries, and starts nothing more; what runs goes on. */
  readonly #closed = new AbortController();
  /** Of what is being prepared: a stop ends it early. */
  #preparing:
    | { readonly execution: Execution; readonly abort: AbortController; readonly done: Promise<void> }
    | undefined;

  /** Under way. */
  readonly #discards = new Set<Promise<void>>();

  private constructor(options: DeskOptions, state: AgentState) {
    this.#options = options;
    this.#state = state;
  }

  /**
   * Takes up where the journal says. Resolves when it is known what became of the action that was running: before that a server cannot
   * be told. A signal that aborts before closes it.
   */
  static async open(options: DeskOptions, signal: AbortSignal): Promise<AgentDesk> {
    const desk = new AgentDesk(options, await options.journal.read());
    const giveUp = () => desk.#closed.abort(new Error("the agent ends"));
    signal.addEventListener("abort", giveUp, { once: true });
    const { effects } = advance(desk.#state, { is: "restarted" });
    for (const effect of effects) await desk.#begin(effect);
    signal.removeEventListener("abort", giveUp);
    return desk;
  }

  /** As it is on the disk. */
  get state(): AgentState {
    return this.#state;
  }

  /** Resolves with the next state. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Resolves when the input is durable and its effects have begun. Never rejects; after `close` nothing is taken. */
  put(input: Input): Promise<void> {
    return (this.#turn = this.#turn.then(() => this.#take(input)));
  }

  /**
   * Lets go: what runs goes on, and what is durable is all there is. What is being removed has a moment for it, because a run on
   * this machine has no next process that would sweep.
   */
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

  /** Tries until it works. Undefined when the desk was closed, or the signal has aborted, before. */
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

  /** Resolves when the effect is under way; for `recover`, when it is known what is left of the action. Never rejects. */
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

  /** A stop ends it early; what it comes to then is of no interest, because the stop is answered by itself. */
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
    // What was stopped is answered by the stop.
    if (prepared === undefined) return this.#options.logs?.ended(execution);
    const { value } = prepared;
    if (value.is !== "prepared") this.#options.logs?.ended(execution);
    if (value.is === "prepared") await this.put({ is: "prepared", execution, handle: value.handle });
    else await this.put({ is: "ended", execution, ending: value });
  }

  /** Watching may fail, as when the engine is started anew. The action goes on, and is watched again. */
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

  /** What is found is watched; only what is certainly gone is interrupted, so that an engine that is away is waited for. */
  async #recover(execution: Execution, handle: string): Promise<void> {
    const { runtime, log } = this.#options;
    const found = await this.#persist("an action cannot be looked for", () => runtime.isGone(execution, handle));
    if (found === undefined) return;
    if (!found.value) return void this.#run(execution, handle);
    log.warn("an action was interrupted", { workflow: execution.workflow, action: execution.action.name });
    await this.put({ is: "gone", execution });
  }

  /** What is being prepared has to come to its end first, or the stop would find nothing yet. */
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

  /** Once: what stays is swept by the next process. */
  async #discard(execution: Execution): Promise<void> {
    const { runtime, log } = this.#options;
    const discarded = runtime
      .discard(execution)
      .catch((thrown: unknown) => log.warn("what an action has left cannot be removed", { error: messageOf(thrown) }));
    this.#discards.add(discarded);
    await discarded;
    this.#discards.delete(discarded);
  }

  /** Waited for, so that it never meets what a later input has begun. */
  async #sweep(keep: Execution | undefined): Promise<void> {
    await this.#persist("what an earlier process has left cannot be removed", () => this.#options.runtime.sweep(keep));
  }
}
