import { type Clock, messageOf, sleep } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Handler, PodObject } from "../pod-types.ts";
import type { ContainerReach, RunningContainer } from "./container-reach.ts";
import { knock } from "./knock.ts";
import type { PodNotes } from "./pod-notes.ts";

export interface HooksOptions {
  readonly reach: ContainerReach;
  readonly clock: Clock;
  readonly notes: PodNotes;
}

export class Hooks {
  readonly #options: HooksOptions;

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** Rejects if the hook fails, or with the signal's reason. */
  async run(target: RunningContainer, hook: Handler, signal: AbortSignal): Promise<void> {
    const { reach, clock } = this.#options;
    if (hook.sleep !== undefined) return sleep(clock, 1000 * hook.sleep.seconds, signal);
    const result = await knock(hook, target, reach, signal);
    if (!result.succeeded) throw new Error(result.message);
  }

  tellFailed(pod: Stored<PodObject>, container: string, which: "PostStart" | "PreStop", failure: unknown): void {
    this.#options.notes.hookFailed(pod, container, which, messageOf(failure));
  }
}
