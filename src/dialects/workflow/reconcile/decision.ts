import { parseInstant } from "#lib/base/index.ts";
import { type ActionFact, isTerminal, type RunState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { RunAction } from "#kernel/dialect/index.ts";

/** What is to be done about an action in this pass. */
export type Decision =
  | { readonly is: "refused" | "done"; readonly message: string }
  /** Its run number must be stored before it is applied, so that applying it again after a crash does nothing. */
  | { readonly is: "accept" }
  /** `told`: what the answer says once the effect is stored, where that is more than that it was carried out. */
  | { readonly is: "apply"; readonly fact: ActionFact; readonly told?: string };

export const refused = (message: string): Decision => ({ is: "refused", message });
export const done = (message: string): Decision => ({ is: "done", message });

/** Everything but retry is for runs that are not over, and everything but cancel for those that are not being ended. */
export function untimely({ phase, closing }: RunState, action: string): Decision | undefined {
  if (isTerminal(phase)) return refused(`the workflow is ${phase}; only retry is possible`);
  if (closing === undefined || action === "cancel") return undefined;
  return refused(`the workflow is being ended; ${action} is not possible any more`);
}

/**
 * What came after the end has done nothing, and must not say it has. Creation times have seconds only: within the second of the end an
 * action counts as one that came before, whose effect was stored and whose answer was lost.
 */
export function isAfterEnd({ creationTimestamp }: Stored["metadata"], { finishedAt }: RunState): boolean {
  const created = parseInstant(creationTimestamp);
  return created !== undefined && finishedAt !== undefined && created > finishedAt;
}

/** Who asks, as admission has noted it. */
export const asker = (status: RunAction["status"]) => (status?.by === undefined ? {} : { by: status.by });
