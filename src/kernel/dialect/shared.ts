import type { Manager } from "#kernel/kit/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import type { Admission, Dialect, DocumentReader } from "./dialect.ts";
import { RunAction } from "./run-action.ts";
import { runActionAdmission } from "./run-action-admission.ts";
import { runActionDocuments } from "./run-action-document.ts";
import { addActionUpkeep } from "./run-action-upkeep.ts";

/** What all dialects share: RunActions. */
export interface Shared {
  readonly kinds: readonly Kind[];
  readonly admission: readonly Admission[];
  readonly documents: DocumentReader;
  addControllers(manager: Manager): void;
}

export const sharedOf = (dialects: readonly Dialect[]): Shared => ({
  kinds: [RunAction],
  admission: [runActionAdmission(dialects)],
  documents: runActionDocuments(dialects),
  addControllers: (manager) => addActionUpkeep(manager, dialects),
});
