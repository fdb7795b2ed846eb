import type { Result } from "#lib/base/index.ts";
import type { ChildState, Plan, SimulatedAttempt } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";

/** A run without side effects, with unknown outputs. Pure. */
export interface Simulation {
  readonly plan: Plan;
  /** How an attempt ends. Outputs are placeholders: `<steps.build.outputs.image>`. */
  readonly end: (attempt: SimulatedAttempt, fails: boolean) => ChildState;
  /** What an attempt creates, with placeholders; an error if it needs real values, undefined if it creates nothing. */
  readonly manifest: (attempt: SimulatedAttempt) => Result<KubeObject, string> | undefined;
  /** The locks of a running step, and how many may hold each. */
  readonly locks: (step: string) => readonly { readonly name: string; readonly places: number }[];
  /** The manifest is applied to an object that may exist. */
  readonly applies: (step: string) => boolean;
  /** Creates nothing if an earlier result is stored. */
  readonly isCached: (step: string) => boolean;
}
