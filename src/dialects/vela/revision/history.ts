import { isTrueAt } from "#lib/base/index.ts";
import { asJson, type Stored } from "#kernel/model/index.ts";
import { revisionNumber } from "./decide.ts";

/** The default of `applicationRevisionLimit`. */
export const defaultRevisionLimit = 10;

/** Revisions beyond the limit, oldest first. Those in use do not count and stay. */
export function outdatedRevisions(
  revisions: readonly Stored[],
  inUse: ReadonlySet<string>,
  limit = defaultRevisionLimit,
): readonly Stored[] {
  const oldestFirst = [...revisions].sort((a, b) => revisionNumber(a) - revisionNumber(b));
  const surplus = Math.max(0, revisions.length - Math.max(1, limit));
  return oldestFirst.filter(({ metadata }) => !inUse.has(metadata.name)).slice(0, surplus);
}

/** The latest revision but this one whose workflow succeeded: what a rollback goes back to. */
export const rollbackSource = (revisions: readonly Stored[], current: string): Stored | undefined =>
  [...revisions]
    .sort((a, b) => revisionNumber(b) - revisionNumber(a))
    .find((one) => one.metadata.name !== current && isTrueAt(asJson(one), "status", "succeeded"));
