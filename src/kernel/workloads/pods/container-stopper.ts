import { type Clock, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import type { ContainerView } from "./container-view.ts";
import type { Hooks } from "./hooks.ts";

//   0            preStop begins                   grace
//   |------------------|---------------------------|
//                      preStop ends, TERM          KILL
//
// A hook that takes all of the grace is killed, and TERM and KILL come two seconds apart after it.

export interface ContainerStopperOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hooks: Hooks;
}

/** What a container gets after its preStop hook has used up the grace; Kubernetes gives it two seconds as well. */
const leastGrace: Millis = 2_000;

/**
 * Ends containers: their preStop hook first, then TERM, then KILL when the grace is over. The hook runs within the grace; with no
 * grace left it does not run. That it fails is told and stands in nobody's way. Whoever is restarted in the middle begins again.
 */
export class ContainerStopper {
  readonly #options: ContainerStopperOptions;

  constructor(options: ContainerStopperOptions) {
    this.#options = options;
  }

  /** Resolves when the end is under way. May be called again with a shorter grace, which then counts. */
  async stop(pod: Stored<PodObject>, { container }: ContainerView, task: string, grace: Millis): Promise<void> {
    const { runtime, hooks, clock, log } = this.#options;
    const hook = container.lifecycle?.preStop;
    if (hook === undefined || grace <= 0) return runtime.stop(task, grace);
    const over = new AbortController();
    const cancel = clock.after(grace, () => over.abort(new Error("the grace is over")));
    const begun = clock.now();
    const stop = () => runtime.stop(task, Math.max(leastGrace, grace - (clock.now() - begun)));
    void hooks
      .run({ pod, container, task }, hook, over.signal)
      .catch((failure: unknown) => hooks.tellFailed(pod, container.name, "PreStop", failure))
      .then(stop)
      .catch((failure: unknown) => log.warn("a container cannot be stopped", { error: messageOf(failure) }))
      .finally(cancel);
  }
}
