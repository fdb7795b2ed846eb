import { admitted, isSameSpec } from "./admitted.ts";
import type { Admission } from "./dialect.ts";
import { collectProblems } from "./problems.ts";
import { RunAction } from "./run-action.ts";
import { checkRunAction, type Languages } from "./run-action-check.ts";

/**
 * What a server asks before it stores a RunAction: that it can be carried out at all. Whether it can be now is judged
 * by the controller, whose answer is in the status beside who has asked.
 */
export const runActionAdmission = (languages: Languages): Admission => ({
  group: RunAction.group,
  kind: RunAction.kind,
  coversSchema: true,
  /** Who acts. The answer may be that of a controller in another process, with an account of its own. */
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
