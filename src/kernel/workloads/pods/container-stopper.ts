import { type Clock, codeOf, type Logger, messageOf, type Millis, retry } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import type { ContainerView } from "./container-view.ts";
import type { Hooks } from "./hooks.ts";

export interface ContainerStopperOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hooks: Hooks;
}

/** What remains after a preStop hook has used up the grace; as in Kubernetes. */
const leastGrace: Millis = 2_000;
const isClosed = (thrown: unknown): boolean => codeOf(thrown) === "runtime-closed" || codeOf(thrown) === "runner-taken";

/** Stops containers: preStop within the grace, TERM, then KILL. A hook's failure is reported and delays nothing. */
export class ContainerStopper {
  readonly #options: ContainerStopperOptions;

  constructor(options: ContainerStopperOptions) {
    this.#options = options;
  }

  /** Resolves when stopping has begun. May be called again with a shorter grace. */
  async stop(pod: Stored<PodObject>, { container }: ContainerView, task: string, grace: Millis): Promise<void> {
    const { runtime, hooks, clock } = this.#options;
    const hook = container.lifecycle?.preStop;
    if (hook === undefined || grace <= 0) return runtime.stop(task, grace);
    const over = new AbortController();
    const cancel = clock.after(grace, () => over.abort(new Error("the grace is over")));
    const begun = clock.now();
    const left = () => Math.max(leastGrace, grace - (clock.now() - begun));
    void hooks
      .run({ pod, container, task }, hook, over.signal)
      .catch((failure: unknown) => hooks.tellFailed(pod, container.name, "PreStop", failure))
      .finally(cancel)
      .then(() => this.#stopInTheEnd(task, left));
  }

  /** Retries while the container runs and the runtime is unavailable. Never rejects. */
  async #stopInTheEnd(task: string, left: () => Millis): Promise<void> {
    const { runtime, clock, log } = this.#options;
    const isRetryable = (thrown: unknown): boolean => {
      if (isClosed(thrown)) return false;
      log.warn("a container cannot be stopped, trying again", { error: messageOf(thrown) });
      return true;
    };
    await retry({ clock, first: 1_000, longest: 30_000, isRetryable }, async () => {
      if (runtime.find(task)?.state.phase === "running") await runtime.stop(task, left());
    }).catch(() => undefined);
  }
}
