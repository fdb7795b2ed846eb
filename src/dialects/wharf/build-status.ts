import type { RunPhase } from "#engine/index.ts";
import type { Build } from "./kinds.ts";
import type { buildStatuses } from "./schema/build.ts";

/** What the REST API calls the state of a build. */
export type BuildWord = (typeof buildStatuses)[number];

/** The word of a build that has none yet: it was asked for. */
export const wordOf = ({ status }: Pick<Build, "status">): BuildWord => status?.status ?? "Scheduling";

/** Nothing comes after it. */
export const isOver = (word: BuildWord): boolean => word === "Completed" || word === "Failed";

/** Why a build that was ended by somebody has failed. */
export const canceledReason = "Canceled";

/**
 * In the words of every run. The REST API has no word for a build that is canceled: it has failed, and its reason tells. One that is asked
 * to end is on its way there until it has ended.
 */
export function phaseOf(build: Pick<Build, "spec" | "status">): Exclude<RunPhase, "Suspended"> {
  const word = wordOf(build);
  if (word === "Completed") return "Succeeded";
  if (word === "Failed") return build.status?.reason === canceledReason ? "Canceled" : "Failed";
  if (build.spec.cancel === true) return "Cancelling";
  return word === "Running" ? "Running" : "Pending";
}
