import { type Clock, deferred, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { hasEnded, type Runtime, type Task } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import type { ContainerView } from "./container-view.ts";
import type { Hooks } from "./hooks.ts";
import type { Workspace } from "./workspace.ts";

//   0            preStop begins                   grace
//   |------------------|---------------------------|
//                      preStop ends, TERM          KILL
//
// A hook that takes all of the grace is killed, and TERM and KILL come two seconds apart after it.

export interface ContainerStopperOptions {
  /** Runs containers and hooks alike. */
  readonly runtime: Runtime;
  readonly workspace: Workspace;
  readonly clock: Clock;
  readonly log: Logger;
  /** Given where tasks are containers. */
  readonly hooks?: Hooks;
}

/** What a container gets after its preStop command has used up the grace; Kubernetes gives it two seconds as well. */
const leastGrace: Millis = 2_000;

/**
 * Ends containers: their preStop command first, then TERM, then KILL when the grace is over. The hook runs once per execution, as
 * a task of its own, and within the grace; with no grace left it does not run. That it fails, or cannot be made, is logged and
 * stands in nobody's way.
 */
export class ContainerStopper {
  readonly #options: ContainerStopperOptions;

  constructor(options: ContainerStopperOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the end is under way. May be called again with a shorter grace, which then counts. `canMount`: the hook sees the
   * container's volumes.
   */
  async stop(pod: Stored<PodObject>, view: ContainerView, id: string, grace: Millis, canMount: boolean): Promise<void> {
    const { runtime, workspace, log } = this.#options;
    if (this.#options.hooks !== undefined) return this.#stopContainer(this.#options.hooks, pod, view, id, grace);
    const command = view.container.lifecycle?.preStop?.exec?.command ?? [];
    if (command.length === 0 || grace <= 0) return runtime.stop(id, grace);
    // A name no container can have gives the hook files of its own.
    const container = { ...view.container, name: `${view.container.name}.prestop`, command, args: [] };
    const execution = { view: { ...view, container }, restart: view.restart };
    const hook = await workspace.prepare(pod, execution, await workspace.readSources(pod), canMount);
    if (!hook.ok) return runtime.stop(id, grace);
    void this.#runHook(hook.value, id, grace).catch((failure: unknown) =>
      log.warn("a preStop command failed", { container: view.container.name, error: messageOf(failure) }),
    );
  }

  /** The same where the hook runs inside of the container: nothing need be made for it. */
  async #stopContainer(
    hooks: Hooks,
    pod: Stored<PodObject>,
    view: ContainerView,
    id: string,
    grace: Millis,
  ): Promise<void> {
    const { runtime, clock, log } = this.#options;
    const hook = view.container.lifecycle?.preStop;
    if (hook === undefined || grace <= 0) return runtime.stop(id, grace);
    const over = new AbortController();
    const cancel = clock.after(grace, () => over.abort(new Error("the grace is over")));
    const begun = clock.now();
    const stop = () => runtime.stop(id, Math.max(leastGrace, grace - (clock.now() - begun)));
    void hooks
      .run(pod, view.container, id, hook, over.signal)
      .catch((failure: unknown) => hooks.tellFailed(pod, view.container.name, "PreStop", failure))
      .then(stop)
      .catch((failure: unknown) => log.warn("a container cannot be stopped", { error: messageOf(failure) }))
      .finally(cancel);
  }

  /** Runs the hook within the grace, then gives the container what is left of it. */
  async #runHook(hook: Task, id: string, grace: Millis): Promise<void> {
    const { runtime, clock } = this.#options;
    const begun = clock.now();
    const over = deferred<void>();
    const cancelTimer = clock.after(grace, () => over.resolve());
    const cancel = runtime.subscribe((status) => {
      if (status.id === hook.id && hasEnded(status)) over.resolve();
    });
    try {
      if (!hasEnded(await runtime.start(hook))) await over.promise;
      await runtime.stop(hook.id, 0);
    } finally {
      cancel();
      cancelTimer();
      await runtime.stop(id, Math.max(leastGrace, grace - (clock.now() - begun)));
    }
  }
}
