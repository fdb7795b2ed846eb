import { jsonEquals, type JsonObject, isTrueAt, numberAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { Job, labelRule } from "#kernel/model/index.ts";
import { checkJobRules, definitionNames, mapMember, withAbsent, withJobSpecDefaults } from "#kernel/specs/index.ts";
import { jobTable } from "../tables/job.ts";
import type { BuiltIn, Rule } from "./built-in.ts";
import { jobStatusRule } from "./job-status-rules.ts";

// Jobs as they are stored. What a JobSpec may hold is judged in #kernel/specs; here is what depends on the Job as a whole: its
// uid, from which the server makes selector and labels, its name, and its former state.

// Labels of Pods, by which the Job controller and everybody else finds them.
const controllerUid = "batch.kubernetes.io/controller-uid";
const jobName = "batch.kubernetes.io/job-name";

/** A Job without labels of its own takes those of its Pods, as Kubernetes does. */
function withJobDefaults(job: JsonObject): JsonObject {
  const filled = mapMember(job, "spec", withJobSpecDefaults);
  const labels = objectAt(filled, "spec", "template", "metadata", "labels");
  if (labels === undefined || Object.keys(objectAt(filled, "metadata", "labels") ?? {}).length > 0) return filled;
  return mapMember(filled, "metadata", (metadata) => ({ ...metadata, labels }));
}

/**
 * The server chooses the selector by the Job's uid, so that no two Jobs ever share Pods, and puts the labels it selects by onto the
 * template. The two labels without a prefix are from before there were prefixes; clients still select by `job-name`.
 */
function withSelector(job: JsonObject): JsonObject {
  const uid = textAt(job, "metadata", "uid");
  const name = textAt(job, "metadata", "name");
  if (uid === undefined || name === undefined || isTrueAt(job, "spec", "manualSelector")) return job;
  const generated = { [controllerUid]: uid, "controller-uid": uid, [jobName]: name, "job-name": name };
  return mapMember(job, "spec", (spec) => {
    // A client that sends a selector of its own without manualSelector is refused by the rules below.
    const selected = withAbsent(spec, { selector: { matchLabels: { [controllerUid]: uid } } });
    const template = objectAt(selected, "template") ?? {};
    const metadata = objectAt(template, "metadata") ?? {};
    const labels = { ...objectAt(metadata, "labels"), ...generated };
    return { ...selected, template: { ...template, metadata: { ...metadata, labels } } };
  });
}

/** The JobSpec by itself; the same rules judge the Jobs inside documents of dialects. */
const jobRule: Rule = (job, found) => checkJobRules(objectAt(job, "spec") ?? {}, ["spec"], found);

/** Pods of an Indexed Job have the hostname `<job>-<index>`, which must be a DNS label for the largest index too. */
const indexedNameRule: Rule = (job, { errors }) => {
  const completions = numberAt(job, "spec", "completions") ?? 0;
  if (textAt(job, "spec", "completionMode") !== "Indexed" || completions < 1) return;
  const name = textAt(job, "metadata", "name") ?? "";
  const problem = labelRule(`${name}-${completions - 1}`);
  if (problem !== undefined)
    errors.push(
      fieldError.invalid("metadata.name", name, `with "-${completions - 1}" it is a hostname, which ${problem}`),
    );
};

/** A selector of the writer's own needs `manualSelector`, and must select the Pods of the template. Asked at creation only. */
const selectorRule: Rule = (job, { errors }, old) => {
  const selector = objectAt(job, "spec", "selector");
  const uid = textAt(job, "metadata", "uid");
  if (old !== undefined || selector === undefined) return;
  if (isTrueAt(job, "spec", "manualSelector")) {
    const labels = objectAt(job, "spec", "template", "metadata", "labels") ?? {};
    const matches = Object.entries(objectAt(selector, "matchLabels") ?? {}).every(
      ([key, value]) => labels[key] === value,
    );
    if (!matches) errors.push(fieldError.invalid("spec.template.metadata.labels", labels, "must match spec.selector"));
  } else if (uid !== undefined && !jsonEquals(selector, { matchLabels: { [controllerUid]: uid } })) {
    errors.push(
      fieldError.invalid(
        "spec.selector",
        selector,
        "must not be set unless manualSelector is true: the server generates it",
      ),
    );
  }
};

/** Who wants to select by hand must do it. */
const manualSelectorRule: Rule = (job, { errors }, old) => {
  const manual = isTrueAt(job, "spec", "manualSelector");
  if (old === undefined && manual && objectAt(job, "spec", "selector") === undefined)
    errors.push(fieldError.required("spec.selector"));
};

/**
 * What may not change once there may be Pods: how they are made, selected, counted and judged. Parallelism, limits, suspension and
 * time to live may.
 */
const immutableRule: Rule = (job, { errors }, old) => {
  const isSame = (...path: readonly string[]) =>
    jsonEquals(valueAt(job, "spec", ...path), valueAt(old, "spec", ...path));
  const demand = (name: string) => {
    if (!isSame(name))
      errors.push(fieldError.invalid(`spec.${name}`, valueAt(job, "spec", name), "field is immutable"));
  };
  for (const name of [
    "selector",
    "completionMode",
    "manualSelector",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
  ])
    demand(name);
  // KEP-3715: an indexed job may be scaled together with its parallelism.
  const isScaled =
    textAt(job, "spec", "completionMode") === "Indexed" &&
    valueAt(job, "spec", "completions") === valueAt(job, "spec", "parallelism");
  if (!isScaled) demand("completions");
  // No pod has been made from the template of a job that is suspended and has not started.
  const mayChange = isTrueAt(old, "spec", "suspend") && textAt(old, "status", "startTime") === undefined;
  if (!mayChange) demand("template");
};

/** The status of a new Job is empty, whatever was sent. `status.successful` is the label Kubernetes offers for selecting by success. */
export const jobKind: BuiltIn = {
  type: Job,
  definition: definitionNames.job,
  table: jobTable,
  subresources: ["status"],
  hasGeneration: true,
  dependants: "orphaned",
  defaults: withJobDefaults,
  prepareForCreate: (job) => ({ ...withSelector(job), status: {} }),
  rules: [jobRule, indexedNameRule, selectorRule, manualSelectorRule],
  updateRules: [immutableRule],
  statusRules: [jobStatusRule],
  fields: { "status.successful": (job) => String(numberAt(job, "status", "succeeded") ?? 0) },
};
