import { isJsonObject, type JsonValue, type JsonObject, jsonEquals } from "#lib/base/index.ts";
import { type Admission, admitted, collectProblems, isSameSpec, type Report } from "#kernel/dialect/index.ts";
import { Workflow, WorkflowTemplate } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { resubmittedFrom, reuseFrom } from "./resubmit.ts";
import { scheduledAt } from "./scheduled-at.ts";
import { warnUnserved } from "./unknown-kinds.ts";
import { validateAhead, validateTemplate, validateTemplateAhead, validateWorkflow } from "./validate.ts";

type Progress = "unstarted" | "running" | "completed";

/** Fields that expressions have used and labels that children carry. */
const immutable = ["selector", "params", "arguments", "templateRef", "concurrency"] as const;
/** The rest before a template is resolved, because nothing has used it. */
const startedWith = ["selector", "params"] as const;
const alwaysEditable = new Set(["ttlSecondsAfterFinished"]);

/** Reports forbidden changes of a stored workflow. Validity is checked elsewhere, except after `finished`. */
function checkUpdate(object: JsonObject, old: JsonObject, report: Report): "finished" | "open" {
  const [next, before] = [objectAt(object, "spec"), objectAt(old, "spec")];
  if (isFinished(old)) return checkFinished(next, before, report) ? "open" : "finished";
  const statuses = objectAt(objectAt(old, "status"), "statuses");
  for (const part of ["steps", "finally"] as const) {
    const [steps, stepsBefore] = [objectAt(next, part), objectAt(before, part)];
    for (const [key, step] of Object.entries(stepsBefore)) {
      if (step === undefined) continue;
      checkStep(key, step, ownMember(steps, key), progressOf(ownMember(statuses, key)), part, report);
    }
  }
  const fixed = isUnresolved(before, old) ? startedWith : immutable;
  for (const field of fixed)
    if (!jsonEquals(next[field], before[field])) report(["spec", field], "immutable", "cannot be changed");
  return "open";
}

const isUnresolved = (spec: JsonObject, object: JsonObject): boolean =>
  spec["templateRef"] !== undefined && objectAt(object, "status")["resolvedSpec"] === undefined;

/** The spec of a finished run is a record. True if it was changed. */
function checkFinished(next: JsonObject, before: JsonObject, report: Report): boolean {
  const fields = new Set([...Object.keys(next), ...Object.keys(before)]);
  const changed = [...fields].filter((field) => !alwaysEditable.has(field) && !jsonEquals(next[field], before[field]));
  for (const field of changed) report(["spec", field], "forbidden", "cannot update completed workflow");
  return changed.length === 0;
}

function checkStep(
  key: string,
  before: JsonValue,
  next: JsonValue | undefined,
  progress: Progress,
  part: string,
  report: Report,
): void {
  if (progress === "unstarted" || jsonEquals(next, before)) return;
  report(
    ["spec", part, key],
    "forbidden",
    `cannot ${next === undefined ? "delete" : "modify"} ${progress} step "${key}"`,
  );
}

/** Attempted, suspended and settled steps have started. Attempts of earlier runs do not count. */
function progressOf(status: JsonValue | undefined): Progress {
  if (!isJsonObject(status)) return "unstarted";
  const { phase } = status;
  if (phase === "Succeeded" || phase === "Failed" || phase === "Skipped" || phase === "Canceled") return "completed";
  if (phase === "Suspended") return "running";
  return numberOf(status["attempt"]) > numberOf(status["earlierAttempts"]) && phase !== "Pending"
    ? "running"
    : "unstarted";
}

const numberOf = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);

function isFinished(object: JsonObject): boolean {
  const phase = objectAt(object, "status")["phase"];
  return phase === "Succeeded" || phase === "Failed" || phase === "Canceled";
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

const ownMember = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

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
  ahead: validateTemplateAhead,
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && isSameSpec(object, old)) return admitted([]);
    validateTemplate(object, found);
    return admitted(found.problems);
  },
};
