import type { RunPhase } from "#engine/index.ts";

/** In the order of a list sorted by phase: what needs a person comes first. */
export const runPhases: readonly RunPhase[] = [
  "Failed",
  "Suspended",
  "Running",
  "Pending",
  "Cancelling",
  "Canceled",
  "Succeeded",
];
