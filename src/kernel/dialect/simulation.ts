import type { Result } from "#lib/base/index.ts";
import type { ChildState, Plan, SimulatedAttempt } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";

/** A run as it can be tried without a world: nothing is created, and what steps would give is not known. Pure. */
export interface Simulation {
  readonly plan: Plan;
  /** How an attempt ends. Outputs are texts that name them, `<steps.build.outputs.image>`. */
  readonly end: (attempt: SimulatedAttempt, fails: boolean) => ChildState;
  /**
   * What an attempt creates, with such texts where values are not known; an error where it needs them to be told at all, undefined
   * for attempts that create nothing.
   */
  readonly manifest: (attempt: SimulatedAttempt) => Result<KubeObject, string> | undefined;
  /** The locks a step needs while it is under way, and how many may hold each. */
  readonly locks: (step: string) => readonly { readonly name: string; readonly places: number }[];
  /** True for steps whose manifest is applied to an object that may be there already. */
  readonly applies: (step: string) => boolean;
  /** True for steps that create nothing where an earlier result is stored. */
  readonly isCached: (step: string) => boolean;
}
