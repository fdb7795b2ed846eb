import type { ChildState, Plan, SimulatedAttempt } from "#engine/index.ts";

/** A run as it can be tried without a world: nothing is created, and what steps would give is not known. Pure. */
export interface Simulation {
  readonly plan: Plan;
  /** How an attempt ends. Outputs are texts that name them, `<steps.build.outputs.image>`. */
  readonly end: (attempt: SimulatedAttempt, fails: boolean) => ChildState;
}
