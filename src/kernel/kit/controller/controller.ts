import { aborted, type Clock, type Instant, type Logger, messageOf, type Millis, toError } from "#lib/base/index.ts";
import { isConflict, splitKey } from "#kernel/model/index.ts";
import { controllerStopped, reconcileTimedOut } from "./errors.ts";
import { type ReconcileContext, type ReconcileResult, type Reconciler, TerminalError } from "./reconciler.ts";
import { type QueueObserver, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

/** Runs something after the present turn: `setImmediate` in production. */
export type Schedule = (run: () => void) => void;

export interface Runnable {
  readonly name: string;
  /** Also runs before leadership is gained; default: false. */
  readonly runsWithoutLeadership?: boolean;
  /** Runs until `stop` aborts, then finishes its work; `abort` drops everything. A rejection ends the program. */
  run(signals: { readonly stop: AbortSignal; readonly abort: AbortSignal }): Promise<void>;
}

export interface ControllerOptions {
  readonly name: string;
  readonly reconciler: Reconciler;
  readonly clock: Clock;
  readonly log: Logger;
  readonly schedule?: Schedule;
  /** Keys reconciled at the same time; default: 16. */
  readonly maxConcurrent?: number;
  /** A longer reconcile is aborted; default: 2 minutes. */
  readonly reconcileTimeout?: Millis;
  /** How long a stop waits for queued keys; default: 10 s. */
  readonly drainTimeout?: Millis;
  readonly observer?: ControllerObserver;
  readonly retries?: Pick<WorkQueueOptions, "firstRetry" | "longestRetry" | "retryLimit">;
}

export type Outcome = "success" | "requeued" | "failed" | "terminal";

export interface ControllerObserver extends QueueObserver {
  reconciled?(outcome: Outcome, took: Millis): void;
}

/** After a restart hundreds of keys are ready at once; starting them all in one turn would delay each of them. */
const longestTurn: Millis = 1;

/** One call of the reconciler. Signal and logger are made on demand: most passes need neither. */
class Pass implements ReconcileContext {
  readonly key: string;
  readonly deadline: Millis;
  readonly now: Instant;
  readonly failures: number;
  readonly #parentLog: Logger;
  #log: Logger | undefined;
  #abort: AbortController | undefined;

  constructor(
    key: string,
    start: { readonly deadline: Millis; readonly now: Instant; readonly failures: number },
    log: Logger,
  ) {
    this.key = key;
    this.deadline = start.deadline;
    this.now = start.now;
    this.failures = start.failures;
    this.#parentLog = log;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    return this.#abort.signal;
  }

  get log(): Logger {
    this.#log ??= this.#parentLog.with({ object: this.key });
    return this.#log;
  }

  get isAborted(): boolean {
    return this.#abort?.signal.aborted === true;
  }

  abort(reason: Error): void {
    this.#abort ??= new AbortController();
    this.#abort.abort(reason);
  }
}

/** Reconciles its queue: each key once at a time, `maxConcurrent` keys at once. Keys of one turn are one batch. */
export class Controller implements Runnable {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly #reconciler: Reconciler;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #schedule: Schedule;
  readonly #maxConcurrent: number;
  readonly #timeout: Millis;
  readonly #drainTimeout: Millis;
  readonly #observer: ControllerObserver;
  // In order of start, and so of deadline: one timer suffices.
  readonly #running = new Set<Pass>();
  #cancelTimer: (() => void) | undefined;
  #isStarted = false;
  #isScheduled = false;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#reconciler = options.reconciler;
    this.#clock = options.clock;
    this.#log = options.log.with({ controller: options.name });
    this.#schedule = options.schedule ?? setImmediate;
    this.#maxConcurrent = options.maxConcurrent ?? 16;
    this.#timeout = options.reconcileTimeout ?? 120_000;
    this.#drainTimeout = options.drainTimeout ?? 10_000;
    this.#observer = options.observer ?? {};
    this.queue = new WorkQueue({ clock: options.clock, observer: this.#observer, ...options.retries });
    this.queue.onReady(() => this.#wake());
  }

  /** Works until `stop` aborts, then drains for `drainTimeout` or until `abort`. Aborted passes may not write. */
  async run(signals: { readonly stop: AbortSignal; readonly abort: AbortSignal }): Promise<void> {
    this.#isStarted = true;
    this.#wake();
    await aborted(signals.stop);
    if (!signals.abort.aborted)
      await Promise.race([this.queue.shutdownWithDrain(this.#drainTimeout), aborted(signals.abort)]);
    this.#isStarted = false;
    this.queue.shutdown();
    for (const pass of this.#running) pass.abort(controllerStopped(this.name));
    this.#cancelTimer?.();
  }

  #wake(): void {
    if (this.#isScheduled || !this.#isStarted) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.#startReady();
    });
  }

  #startReady(): void {
    const end = this.#clock.monotonic() + longestTurn;
    while (this.#isStarted && this.#running.size < this.#maxConcurrent) {
      const key = this.queue.take();
      if (key === undefined) return;
      // Never rejects.
      void this.#process(key);
      if (this.#clock.monotonic() >= end) return this.#wake();
    }
  }

  async #process(key: string): Promise<void> {
    const started = this.#clock.monotonic();
    const pass = this.#begin(key, started);
    let outcome: Outcome;
    try {
      outcome = this.#onSuccess(key, await this.#reconciler.reconcile(splitKey(key), pass));
    } catch (thrown) {
      outcome = this.#onFailure(key, thrown);
    }
    this.#running.delete(pass);
    this.queue.done(key);
    this.#observer.reconciled?.(outcome, this.#clock.monotonic() - started);
    this.#wake();
  }

  /** Waiting is not a failure. */
  #onSuccess(key: string, result: ReconcileResult | undefined | void): Outcome {
    this.queue.forget(key);
    if (result?.requeueAfter === undefined) return "success";
    this.queue.addAfter(key, result.requeueAfter);
    return "requeued";
  }

  #onFailure(key: string, thrown: unknown): Outcome {
    const fields = { object: key, error: messageOf(thrown) };
    if (thrown instanceof TerminalError) {
      this.queue.forget(key);
      this.#log.warn("reconcile failed for good", fields);
      return "terminal";
    }
    // The mirror was a moment behind; the next try reads the change.
    if (isConflict(thrown)) this.#log.debug("reconcile met a conflict", fields);
    else this.#log.warn("reconcile failed, trying again", { ...fields, stack: toError(thrown).stack });
    this.queue.addRateLimited(key);
    return "failed";
  }

  #begin(key: string, started: Millis): Pass {
    const start = { deadline: started + this.#timeout, now: this.#clock.now(), failures: this.queue.failures(key) };
    const pass = new Pass(key, start, this.#log);
    this.#running.add(pass);
    if (this.#cancelTimer === undefined) this.#watchDeadline(pass);
    return pass;
  }

  /** `#running` is in order of deadline. */
  #watchDeadline(first: Pass): void {
    const delay = Math.max(1, Math.ceil(first.deadline - this.#clock.monotonic()));
    this.#cancelTimer = this.#clock.after(delay, () => this.#checkDeadlines());
  }

  #checkDeadlines(): void {
    this.#cancelTimer = undefined;
    const now = this.#clock.monotonic();
    for (const pass of this.#running) {
      if (pass.isAborted) continue;
      if (pass.deadline > now) return this.#watchDeadline(pass);
      this.#log.warn("reconcile took too long and was aborted", { object: pass.key, limitMs: this.#timeout });
      pass.abort(reconcileTimedOut(this.name, pass.key, this.#timeout));
    }
  }
}
