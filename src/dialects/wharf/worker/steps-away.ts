import { messageOf } from "#lib/base/index.ts";
import { StepFailure } from "./step-failure.ts";
import type { StepEnd, StepJob } from "./step-runtime.ts";

/**
 * The steps of one build that run elsewhere, and what they have there: a container or a Pod each, by its name. How a build begins there and how it is
 * closed is the same for all engines.
 */
export class StepsAway {
  readonly #delete: (name: string) => Promise<void>;
  readonly #closing = new AbortController();
  /** What is there; what is on its way out is not. */
  readonly #names = new Set<string>();
  readonly #removals = new Set<Promise<void>>();
  /** Numbers of the stages, in the order of which they are selected. */
  readonly #stageIds = new Map<string, number>();
  /** Steps that have not come to their end. */
  readonly #running = new Set<Promise<StepEnd>>();

  /** `remove` takes one away, and tells by itself of what it could not: it must not reject. */
  constructor(remove: (name: string) => Promise<void>) {
    this.#delete = remove;
  }

  /** Aborted when the build has ended: nobody waits for anything any more. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Gives stages their numbers; those that have one keep it. */
  number(stages: readonly string[]): void {
    for (const stage of stages) if (!this.#stageIds.has(stage)) this.#stageIds.set(stage, this.#stageIds.size + 1);
  }

  stageId(stage: string): number | undefined {
    return this.#stageIds.get(stage);
  }

  /** Carries a step to its end, whatever is thrown on the way; the signal says that it is to end, or the build. Several at a time. */
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
      // What was asked last may have failed for the very reason that the step is to end.
      if (job.signal.aborted) return { status: "Cancelled", exitCode: null };
      // A step that ends while the build is closed was killed.
      if (this.closing.aborted)
        return { status: "Failed", exitCode: 137, reason: "Signal", message: "killed by SIGKILL" };
      return thrown instanceof StepFailure ? thrown.end : notTransferred(thrown);
    }
  }

  /** Something is there from now on, at the latest until the build is closed. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** It stays, for whoever wants to look at it. */
  leave(name: string): void {
    this.#names.delete(name);
  }

  /** In the background; `close` waits for it. Once is enough. What is not done now the next worker does, should this one have gone by then. */
  remove(name: string): void {
    if (!this.#names.delete(name)) return;
    const removal = this.#delete(name).finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  /** Removes everything at once; what is just being made goes when it is there. Resolves when nothing of the build is left, or nobody has answered for long. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the build has ended"));
    for (const name of this.#names) this.remove(name);
    await Promise.all(this.#running);
    await Promise.all(this.#removals);
  }
}

/** What could not be put together or brought there. Words of an engine's or a cluster's refusal are told as they are. */
const notTransferred = (thrown: unknown): StepEnd => ({
  status: "Failed",
  exitCode: null,
  reason: "Transfer",
  message: messageOf(thrown),
});

/** The same, with something to be done when it was read to its end, or is not read any further. */
export async function* read<T>(source: AsyncIterable<T>, done: () => void): AsyncGenerator<T, void> {
  try {
    yield* source;
  } finally {
    done();
  }
}
