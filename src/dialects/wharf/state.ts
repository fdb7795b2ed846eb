import type { RunPhase } from "#engine/index.ts";
import type { Build } from "./kinds.ts";
import type { buildStatuses } from "./schema/build.ts";

export type BuildWord = (typeof buildStatuses)[number];

export const wordOf = ({ status }: Pick<Build, "status">): BuildWord => status?.status ?? "Scheduling";

export const isOver = (word: BuildWord): boolean => word === "Completed" || word === "Failed";

export const canceledReason = "Canceled";

/** The phase in the engine's words. The REST API has no word for canceled builds: they are Failed with the reason
 * Canceled. */
export function phaseOf(build: Pick<Build, "spec" | "status">): Exclude<RunPhase, "Suspended"> {
  const word = wordOf(build);
  if (word === "Completed") return "Succeeded";
  if (word === "Failed") return build.status?.reason === canceledReason ? "Canceled" : "Failed";
  if (build.spec.cancel === true) return "Cancelling";
  return word === "Running" ? "Running" : "Pending";
}
