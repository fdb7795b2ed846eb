import { parseInstant } from "#lib/base/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import type { Age, Candidate } from "./dispatch-queue.ts";
import { type AnyWorkflow, stateOf } from "./stored.ts";

export const ageOf = ({ metadata }: Stored<AnyWorkflow>): Age => ({
  key: keyOf(metadata),
  createdAt: parseInstant(metadata.creationTimestamp ?? "") ?? 0,
  uid: metadata.uid,
});

export const candidateOf = (workflow: Stored<AnyWorkflow>): Omit<Candidate, keyof Age> => ({
  state: stateOf(workflow),
  isDisabled: workflow.spec?.["disabled"] === true,
  isDeleted: workflow.metadata.deletionTimestamp !== undefined,
});
