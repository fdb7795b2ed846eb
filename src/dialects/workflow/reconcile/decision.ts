import { parseInstant } from "#lib/base/index.ts";
import { type ActionFact, isTerminal, type RunState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { RunAction } from "#kernel/dialect/index.ts";

export type Decision =
  | { readonly is: "refused" | "done"; readonly message: string }
  /** The run number is stored first, so that repeating it after a crash does nothing. */
  | { readonly is: "accept" }
  /** `told`: the answer once the effect is stored, if there is more to say than success. */
  | { readonly is: "apply"; readonly fact: ActionFact; readonly told?: string };

export const refused = (message: string): Decision => ({ is: "refused", message });
export const done = (message: string): Decision => ({ is: "done", message });

/** Only retry is for finished runs, and only cancel for those being ended. */
export function untimely({ phase, closing }: RunState, action: string): Decision | undefined {
  if (isTerminal(phase)) return refused(`the workflow is ${phase}; only retry is possible`);
  if (closing === undefined || action === "cancel") return undefined;
  return refused(`the workflow is being ended; ${action} is not possible any more`);
}

/** An action after the end has no effect and must say so. Within the second of the end it counts as earlier. */
export function isAfterEnd({ creationTimestamp }: Stored["metadata"], { finishedAt }: RunState): boolean {
  const created = parseInstant(creationTimestamp);
  return created !== undefined && finishedAt !== undefined && created > finishedAt;
}

export const asker = (status: RunAction["status"]) => (status?.by === undefined ? {} : { by: status.by });
