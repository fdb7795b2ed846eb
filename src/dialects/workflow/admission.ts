import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { type Admission, admitted, collectProblems, isSameSpec } from "#kernel/dialect/index.ts";
import { Workflow, WorkflowTemplate } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { resubmittedFrom, reuseFrom } from "./resubmit.ts";
import { scheduledAt } from "./scheduled-at.ts";
import { warnUnserved } from "./unknown-kinds.ts";
import { checkUpdate } from "./update.ts";
import { validateTemplate, validateWorkflow } from "./validate.ts";

/**
 * What a server asks before it stores a Workflow. Pure, and the same checks as those of a file, so that `slipway
 * lint` and `kubectl apply` say the same; only what may change while a run is under way is asked here alone. Status
 * updates do not come here.
 */
export const workflowAdmission: Admission = {
  group: Workflow.group,
  kind: Workflow.kind,
  coversSchema: true,
  /** A status sent along is dropped. The finalizer is there from the start, which saves the controller a write per run. */
  prepareForCreate({ status: _dropped, ...object }) {
    const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
    const finalizers = Array.isArray(metadata["finalizers"]) ? metadata["finalizers"] : [];
    if (finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } };
  },
  ownStatus: (status) => status,
  /**
   * All but what holds a run up, which others may do to a run that is not theirs; the run whose results it takes over; and what of its metadata
   * expressions read.
   */
  actsOn({ spec, metadata }) {
    const { annotations, labels = {} } = isJsonObject(metadata) ? metadata : {};
    const noted = isJsonObject(annotations) ? annotations : {};
    return [unheld(spec), labels, ...[resubmittedFrom, reuseFrom, scheduledAt].map((name) => noted[name] ?? null)];
  },
  validate(object, old, server) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    // What may not change any more need not be right: correcting it would not get it in either.
    if (old !== undefined && checkUpdate(object, old, found.error) === "finished") return admitted(found.problems);
    if (validateWorkflow(object, found).compiled !== undefined && server !== undefined)
      warnUnserved((object as unknown as Workflow).spec, server.serves, found.warn); // It compiled, so it is one.
    return admitted(found.problems);
  },
};

/** A specification without what holds it up, which says nothing of what is done. */
export function unheld(spec: JsonValue = null): JsonValue {
  if (!isJsonObject(spec)) return spec;
  const { suspend: _held, ...rest } = spec;
  return rest;
}

/** As of a Workflow; a template may change at any time, since runs hold on to what they started with. */
export const templateAdmission: Admission = {
  group: WorkflowTemplate.group,
  kind: WorkflowTemplate.kind,
  coversSchema: true,
  prepareForCreate: (object) => object,
  /** A run that refers to it does what the writers of both may do. */
  actsOn: ({ spec }) => spec,
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    validateTemplate(object, found);
    return admitted(found.problems);
  },
};
