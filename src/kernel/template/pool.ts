import {
  afterAwake,
  type Cancel,
  type Clock,
  type Deferred,
  deferred,
  err,
  holdProcess,
  type Millis,
  messageOf,
  ok,
  type Result,
  onAbort,
} from "#lib/base/index.ts";
import type { ThreadAnswer } from "./protocol.ts";
import type { TemplateThread } from "./thread.ts";

export interface PoolLimits {
  readonly maxThreads: number;
  /** Questions that wait for a thread; more are refused. */
  readonly maxWaiting: number;
  /** Processor time per question, from when a thread has it; then the thread is ended. */
  readonly budgetMs: Millis;
  /** A thread is replaced after so many questions or with so much memory, because WebAssembly memory never shrinks. */
  readonly maxQuestions: number;
  readonly maxKeptBytes: number;
  /** An idle thread is ended after this. */
  readonly idleMs: Millis;
}

export const defaultLimits: PoolLimits = {
  maxThreads: 2,
  maxWaiting: 1000,
  budgetMs: 10_000,
  maxQuestions: 10_000,
  maxKeptBytes: 256 * 1024 * 1024,
  idleMs: 60_000,
};

/** The longest that a question may take on the clock, in budgets. */
const busyFactor = 10;
/** The system counts processor time in steps of this. */
const cpuTickMs: Millis = 10;

export type PoolFailure =
  | { readonly kind: "time" }
  | { readonly kind: "memory" }
  | { readonly kind: "busy" }
  | { readonly kind: "closed" }
  | { readonly kind: "crashed"; readonly message: string };

/** Why threads were ended before their time was over: `used` after many questions or much memory. */
export type ThreadEnd = "time" | "memory" | "crashed" | "used";

interface Task {
  readonly question: string;
  readonly source: string | undefined;
  readonly budgetMs: Millis;
  readonly answer: Deferred<Result<string, PoolFailure>>;
}

interface Slot {
  readonly thread: TemplateThread;
  state: "starting" | "idle" | Task;
  questions: number;
  /** Of the budget during a task, else of idleness. */
  cancelTimer: Cancel;
}

/** Sources that are remembered because a question of theirs ran out of its budget. */
const maxCostly = 100;

/**
 * A few threads, started on demand, one question at a time each. A question over its budget ends its thread only; from
 * then on all questions of such sources share one thread, so that the others remain for everybody else.
 */
export class TemplatePool {
  readonly #start: () => TemplateThread;
  readonly #clock: Clock;
  readonly #limits: PoolLimits;
  readonly #waiting: Task[] = [];
  readonly #slots = new Set<Slot>();
  readonly #ending = new Set<Promise<void>>();
  readonly #costly = new Set<string>();
  readonly #ends: Record<ThreadEnd, number> = { time: 0, memory: 0, crashed: 0, used: 0 };
  #isClosed = false;
  #unanswered = 0;
  #release: Cancel = () => undefined;

  constructor(start: () => TemplateThread, clock: Clock, limits: Partial<PoolLimits> = {}) {
    this.#start = start;
    this.#clock = clock;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /**
   * Rejects if threads cannot start, or with the signal's reason, dropping the question or its later answer. All
   * questions about one template have the same `source`.
   */
  async ask(
    question: string,
    signal?: AbortSignal,
    budgetMs?: Millis,
    source?: string,
  ): Promise<Result<string, PoolFailure>> {
    signal?.throwIfAborted();
    if (this.#isClosed) return err({ kind: "closed" });
    if (this.#waiting.length >= this.#limits.maxWaiting) return err({ kind: "busy" });
    const task: Task = { question, source, budgetMs: budgetMs ?? this.#limits.budgetMs, answer: deferred() };
    const forget = onAbort(signal, () => {
      const at = this.#waiting.indexOf(task);
      if (at >= 0) this.#waiting.splice(at, 1);
      task.answer.reject(signal?.reason);
    });
    if (this.#unanswered++ === 0) this.#release = holdProcess();
    try {
      this.#waiting.push(task);
      this.#advance();
      return await task.answer.promise;
    } finally {
      forget();
      if (--this.#unanswered === 0) this.#release();
    }
  }

  /** How many threads were replaced. */
  get replaced(): Readonly<Record<ThreadEnd, number>> {
    return this.#ends;
  }

  /** Starts a thread unless there is one. */
  warm(): void {
    if (!this.#isClosed && this.#slots.size === 0) this.#startSlot();
  }

  /** Ends all threads; waiting callers are told. Resolves when they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#waiting.splice(0)) task.answer.resolve(err({ kind: "closed" }));
    for (const slot of this.#slots) this.#drop(slot, { kind: "closed" });
    await Promise.all(this.#ending);
  }

  /** Gives questions to idle threads; starts another thread if there are none. */
  #advance(): void {
    for (const slot of this.#slots) {
      if (slot.state !== "idle") continue;
      const at = this.#nextAt();
      const [task] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (task === undefined) return;
      void this.#serve(slot, task);
    }
    const isStarting = [...this.#slots].some(({ state }) => state === "starting");
    if (this.#nextAt() >= 0 && !isStarting && this.#slots.size < this.#limits.maxThreads) this.#startSlot();
  }

  /** The first question that may be asked now. */
  #nextAt(): number {
    const isTaken = [...this.#slots].some(({ state }) => typeof state === "object" && this.#isCostly(state));
    return this.#waiting.findIndex((task) => !isTaken || !this.#isCostly(task));
  }

  #isCostly({ source }: Task): boolean {
    return source !== undefined && this.#costly.has(source);
  }

  #remember({ source }: Task): void {
    if (source === undefined) return;
    this.#costly.delete(source);
    this.#costly.add(source);
    for (const oldest of this.#costly) {
      if (this.#costly.size <= maxCostly) return;
      this.#costly.delete(oldest);
    }
  }

  #startSlot(): void {
    const slot: Slot = { thread: this.#start(), state: "starting", questions: 0, cancelTimer: () => undefined };
    this.#slots.add(slot);
    slot.thread.ready.then(
      () => this.#rest(slot),
      (thrown: unknown) => {
        if (!this.#slots.has(slot)) return;
        this.#drop(slot);
        // Retrying for the waiting ones would fail alike; later callers retry.
        if (this.#slots.size === 0) for (const task of this.#waiting.splice(0)) task.answer.reject(thrown);
      },
    );
  }

  #rest(slot: Slot): void {
    if (!this.#slots.has(slot)) return;
    slot.state = "idle";
    slot.cancelTimer = this.#clock.after(this.#limits.idleMs, () => this.#drop(slot));
    this.#advance();
  }

  async #serve(slot: Slot, task: Task): Promise<void> {
    slot.cancelTimer();
    slot.state = task;
    this.#watch(slot, task);
    try {
      this.#settle(slot, task, await slot.thread.ask(task.question));
    } catch (thrown) {
      this.#drop(slot, { kind: "crashed", message: messageOf(thrown) });
      this.#advance();
    }
  }

  /** Counts the thread's processor time where it is known, so that a busy machine does not end honest questions. */
  #watch(slot: Slot, { budgetMs }: Task): void {
    const before = slot.thread.cpuMs();
    const latest = this.#clock.now() + budgetMs * busyFactor;
    const check = (): void => {
      const now = slot.thread.cpuMs();
      const left = before === undefined || now === undefined ? 0 : budgetMs - (now - before);
      if (left > 0 && this.#clock.now() < latest) return arm(Math.max(left, cpuTickMs));
      this.#drop(slot, { kind: "time" });
      this.#advance();
    };
    // A timer that expired while the process stood still must not precede an answer that has already arrived.
    const arm = (ms: Millis): void => {
      slot.cancelTimer = afterAwake(this.#clock, ms, check);
    };
    arm(budgetMs);
  }

  #settle(slot: Slot, task: Task, answer: ThreadAnswer): void {
    slot.cancelTimer();
    if (answer.kind === "answer") {
      task.answer.resolve(ok(answer.text));
      const { maxQuestions, maxKeptBytes } = this.#limits;
      if (++slot.questions < maxQuestions && answer.memoryBytes <= maxKeptBytes) return this.#rest(slot);
      this.#drop(slot);
      this.#ends.used++;
      if (!this.#isClosed) this.#startSlot();
      return this.#advance();
    }
    this.#drop(slot, answer.kind === "crashed" ? answer : { kind: "memory" });
    this.#advance();
  }

  /** Ends a thread and answers its question with the failure. */
  #drop(slot: Slot, failure?: PoolFailure): void {
    if (!this.#slots.delete(slot)) return;
    slot.cancelTimer();
    if (failure !== undefined && failure.kind in this.#ends) this.#ends[failure.kind as ThreadEnd]++;
    if (typeof slot.state === "object" && failure !== undefined) {
      if (failure.kind === "time" || failure.kind === "memory") this.#remember(slot.state);
      slot.state.answer.resolve(err(failure));
    }
    const ending = slot.thread.end().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
