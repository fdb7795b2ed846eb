import { messageOf } from "#lib/base/index.ts";
import { StepFailure } from "./step-failure.ts";
import type { StepEnd, StepJob } from "./step-runtime.ts";

/** The containers or Pods of one build. Starting and closing is the same for all engines. */
export class StepsAway {
  readonly #delete: (name: string) => Promise<void>;
  readonly #closing = new AbortController();
  readonly #names = new Set<string>();
  readonly #removals = new Set<Promise<void>>();
  readonly #stageIds = new Map<string, number>();
  readonly #running = new Set<Promise<StepEnd>>();

  /** `remove` must not reject; it reports failures itself. */
  constructor(remove: (name: string) => Promise<void>) {
    this.#delete = remove;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  number(stages: readonly string[]): void {
    for (const stage of stages) if (!this.#stageIds.has(stage)) this.#stageIds.set(stage, this.#stageIds.size + 1);
  }

  stageId(stage: string): number | undefined {
    return this.#stageIds.get(stage);
  }

  /** Runs a step to its end and converts errors. The signal is aborted when the step or the build is to end. */
  async run(job: StepJob, carry: (signal: AbortSignal) => Promise<StepEnd>): Promise<StepEnd> {
    const running = this.#carried(job, carry);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #carried(job: StepJob, carry: (signal: AbortSignal) => Promise<StepEnd>): Promise<StepEnd> {
    try {
      const signal = AbortSignal.any([job.signal, this.closing]);
      signal.throwIfAborted();
      return await carry(signal);
    } catch (thrown) {
      // The failure may be a consequence of canceling.
      if (job.signal.aborted) return { status: "Cancelled", exitCode: null };
      if (this.closing.aborted)
        return { status: "Failed", exitCode: 137, reason: "Signal", message: "killed by SIGKILL" };
      return thrown instanceof StepFailure ? thrown.end : notTransferred(thrown);
    }
  }

  add(name: string): void {
    this.#names.add(name);
  }

  leave(name: string): void {
    this.#names.delete(name);
  }

  remove(name: string): void {
    if (!this.#names.delete(name)) return;
    const removal = this.#delete(name).finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  /** Removes everything, including containers that are being created. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the build has ended"));
    for (const name of this.#names) this.remove(name);
    await Promise.all(this.#running);
    await Promise.all(this.#removals);
  }
}

const notTransferred = (thrown: unknown): StepEnd => ({
  status: "Failed",
  exitCode: null,
  reason: "Transfer",
  message: messageOf(thrown),
});

/** Yields from `source` and calls `done` at the end, also if reading stops early. */
export async function* read<T>(source: AsyncIterable<T>, done: () => void): AsyncGenerator<T, void> {
  try {
    yield* source;
  } finally {
    done();
  }
}
