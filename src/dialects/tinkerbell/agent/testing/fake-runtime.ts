import { type Deferred, deferred } from "#lib/base/index.ts";
import type { ActionRuntime, Prepared } from "../action-runtime.ts";
import type { Ending, Execution } from "../work.ts";

/** What a machine has of one execution. */
interface Life {
  readonly execution: Execution;
  isStarted: boolean;
  readonly ended: Deferred<Ending>;
}

/**
 * A machine in memory, on which actions do what a test says. It outlives agents: each gets one runtime of it. `log` has what really happened,
 * in order.
 */
export class FakeMachine {
  readonly log: string[] = [];
  /** What preparing comes to; a test may change it, also to a rejection. */
  prepare: (execution: Execution) => Promise<Prepared> = async ({ action }) => ({ is: "prepared", handle: action.id });
  /** What removing what is left takes; a test may change it. */
  removal: () => Promise<void> = () => Promise.resolve();
  /** Nobody can be asked what runs. */
  isAway = false;
  readonly #lives = new Map<string, Life>();

  /** The action that runs ends like this. */
  end(ending: Ending = { is: "succeeded" }): void {
    const [life] = [...this.#lives.values()].filter(({ isStarted }) => isStarted);
    if (life === undefined) throw new Error("no action runs");
    this.#note("ended", life.execution);
    life.ended.resolve(ending);
  }

  /** As after a power cut: nothing of what ran is left. */
  forget(): void {
    this.#lives.clear();
  }

  /** What an agent's process has of this machine. */
  runtime(): ActionRuntime {
    return {
      prepare: async (execution) => {
        this.#note("prepared", execution);
        const prepared = await this.prepare(execution);
        if (prepared.is === "prepared" && !this.#lives.has(keyOf(execution)))
          this.#lives.set(keyOf(execution), { execution, isStarted: false, ended: deferred() });
        return prepared;
      },
      run: (execution) => {
        const life = this.#lives.get(keyOf(execution));
        if (life === undefined) return Promise.reject(new Error("there is no such action"));
        if (!life.isStarted) this.#note("started", execution);
        life.isStarted = true;
        return life.ended.promise;
      },
      isGone: async (execution) => {
        if (this.isAway) throw new Error("no engine answers");
        return !this.#lives.has(keyOf(execution));
      },
      stop: async (execution) => {
        if (this.#lives.get(keyOf(execution))?.isStarted === true) this.#note("stopped", execution);
      },
      discard: async (execution) => {
        await this.removal();
        this.#lives.delete(keyOf(execution));
      },
      sweep: async (keep) => {
        for (const key of this.#lives.keys()) if (keep === undefined || key !== keyOf(keep)) this.#lives.delete(key);
      },
    };
  }

  #note(what: string, { action, attempt }: Execution): void {
    this.log.push(`${what} ${action.name}${attempt > 1 ? ` (${attempt})` : ""}`);
  }
}

const keyOf = ({ workflow, action, attempt }: Execution): string => `${workflow} ${action.id} ${attempt}`;
