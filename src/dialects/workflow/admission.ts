import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { type Admission, admitted, collectProblems, isSameSpec } from "#kernel/dialect/index.ts";
import { Workflow, WorkflowTemplate } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { resubmittedFrom, reuseFrom } from "./resubmit.ts";
import { scheduledAt } from "./scheduled-at.ts";
import { warnUnserved } from "./unknown-kinds.ts";
import { checkUpdate } from "./update.ts";
import { validateAhead, validateTemplate, validateWorkflow } from "./validate.ts";

/** Admission of Workflows: the checks of `slipway lint`, and rules about changes. Not for status updates. */
export const workflowAdmission: Admission = {
  group: Workflow.group,
  kind: Workflow.kind,
  coversSchema: true,
  /** The finalizer at creation saves the controller a write. */
  prepareForCreate({ status: _dropped, ...object }) {
    const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
    const finalizers = Array.isArray(metadata["finalizers"]) ? metadata["finalizers"] : [];
    if (finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } };
  },
  ownStatus: (status) => status,
  /** Everything except what only holds up a run, the reused run, and metadata that expressions read. */
  actsOn({ spec, metadata }) {
    const { annotations, labels = {} } = isJsonObject(metadata) ? metadata : {};
    const noted = isJsonObject(annotations) ? annotations : {};
    return [unheld(spec), labels, ...[resubmittedFrom, reuseFrom, scheduledAt].map((name) => noted[name] ?? null)];
  },
  ahead: validateAhead,
  validate(object, old, server) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    // A field that cannot change any more need not be valid: correcting it would be refused.
    if (old !== undefined && checkUpdate(object, old, found.error) === "finished") return admitted(found.problems);
    if (validateWorkflow(object, found).compiled !== undefined && server !== undefined)
      warnUnserved((object as unknown as Workflow).spec, server.serves, found.warn); // It compiled, so it is one.
    return admitted(found.problems);
  },
};

/** The spec without the fields that only hold up a run. */
export function unheld(spec: JsonValue = null): JsonValue {
  if (!isJsonObject(spec)) return spec;
  const { suspend: _held, ...rest } = spec;
  return rest;
}

/** Like a Workflow's; a template may change at any time, because runs keep what they started with. */
export const templateAdmission: Admission = {
  group: WorkflowTemplate.group,
  kind: WorkflowTemplate.kind,
  coversSchema: true,
  prepareForCreate: (object) => object,
  /** A run of it may do what the writers of both may. */
  actsOn: ({ spec }) => spec,
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    validateTemplate(object, found);
    return admitted(found.problems);
  },
};
