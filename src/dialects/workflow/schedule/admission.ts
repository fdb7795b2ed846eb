import { type Admission, admitted, collectProblems, isSameSpec } from "#kernel/dialect/index.ts";
import { unheld } from "../admission.ts";
import type { Workflow } from "../kinds.ts";
import { warnUnserved } from "../unknown-kinds.ts";
import { ScheduledWorkflow } from "./kind.ts";
import { validateSchedule } from "./validate.ts";

/**
 * What a server asks before it stores a ScheduledWorkflow: the checks of a file. Nothing of it is immutable: runs that there are keep
 * what they were made with.
 */
export const scheduleAdmission: Admission = {
  group: ScheduledWorkflow.group,
  kind: ScheduledWorkflow.kind,
  coversSchema: true,
  prepareForCreate: ({ status: _dropped, ...object }) => object,
  ownStatus: (status) => status,
  /** Runs may do what the writers of the schedule may; whoever holds it up does not become one. */
  actsOn: ({ spec }) => unheld(spec),
  validate(object, old, server) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    const template = validateSchedule(object, found);
    // It compiled, so it is one.
    if (template.compiled !== undefined && server !== undefined)
      warnUnserved((template.workflow as unknown as Workflow).spec, server.serves, template.found.warn);
    return admitted(found.problems);
  },
};
