import { admitted, isSameSpec } from "./admitted.ts";
import type { Admission } from "./dialect.ts";
import { collectProblems } from "./problems.ts";
import { RunAction } from "./run-action.ts";
import { checkRunAction, type Languages } from "./run-action-check.ts";

/**
 * Checks whether a RunAction makes sense. The controller decides whether it is possible now, and answers in the status,
 * beside the author.
 */
export const runActionAdmission = (languages: Languages): Admission => ({
  group: RunAction.group,
  kind: RunAction.kind,
  coversSchema: true,
  /** The author. Controllers of other processes may write the answer. */
  ownStatus: ({ by = null, groups = null }) => [by, groups],
  prepareForCreate: ({ status: _dropped, ...object }, writer) =>
    writer === undefined ? object : { ...object, status: { by: writer.user, groups: [...writer.groups] } },
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && !isSameSpec(object, old))
      found.error(["spec"], "immutable", "an action cannot be changed; create another one");
    checkRunAction(object, languages, found.error);
    return admitted(found.problems);
  },
});
