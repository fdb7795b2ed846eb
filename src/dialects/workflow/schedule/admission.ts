import { type Admission, admitted, collectProblems, isSameSpec } from "#kernel/dialect/index.ts";
import { unheld } from "../admission.ts";
import type { Workflow } from "../kinds.ts";
import { warnUnserved } from "../unknown-kinds.ts";
import { ScheduledWorkflow } from "./kind.ts";
import { validateSchedule } from "./validate.ts";

/** Admission of ScheduledWorkflows: the checks of a file. Nothing is immutable: existing runs keep their spec. */
export const scheduleAdmission: Admission = {
  group: ScheduledWorkflow.group,
  kind: ScheduledWorkflow.kind,
  coversSchema: true,
  prepareForCreate: ({ status: _dropped, ...object }) => object,
  ownStatus: (status) => status,
  /** Runs have the rights of the schedule's writers, not of those who only suspend it. */
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
