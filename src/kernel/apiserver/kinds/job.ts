import { jsonEquals, type JsonObject, isTrueAt, numberAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { Job, labelRule } from "#kernel/model/index.ts";
import { checkJobRules, definitionNames, mapMember, withAbsent, withJobSpecDefaults } from "#kernel/specs/index.ts";
import { jobTable } from "../tables/job.ts";
import type { BuiltIn, Rule } from "./built-in.ts";
import { jobStatusRule } from "./job-status-rules.ts";

// Rules of the Job as a whole; #kernel/specs checks the JobSpec.

// Labels of a Job's Pods.
const controllerUid = "batch.kubernetes.io/controller-uid";
const jobName = "batch.kubernetes.io/job-name";

/** By default a Job has the labels of its Pods, as in Kubernetes. */
function withJobDefaults(job: JsonObject): JsonObject {
  const filled = mapMember(job, "spec", withJobSpecDefaults);
  const labels = objectAt(filled, "spec", "template", "metadata", "labels");
  if (labels === undefined || Object.keys(objectAt(filled, "metadata", "labels") ?? {}).length > 0) return filled;
  return mapMember(filled, "metadata", (metadata) => ({ ...metadata, labels }));
}

/** A selector from the uid, so that no two Jobs share Pods. Clients still select by the old `job-name`. */
function withSelector(job: JsonObject): JsonObject {
  const uid = textAt(job, "metadata", "uid");
  const name = textAt(job, "metadata", "name");
  if (uid === undefined || name === undefined || isTrueAt(job, "spec", "manualSelector")) return job;
  const generated = { [controllerUid]: uid, "controller-uid": uid, [jobName]: name, "job-name": name };
  return mapMember(job, "spec", (spec) => {
    // The rules refuse a selector without manualSelector.
    const selected = withAbsent(spec, { selector: { matchLabels: { [controllerUid]: uid } } });
    const template = objectAt(selected, "template") ?? {};
    const metadata = objectAt(template, "metadata") ?? {};
    const labels = { ...objectAt(metadata, "labels"), ...generated };
    return { ...selected, template: { ...template, metadata: { ...metadata, labels } } };
  });
}

/** The same rules check Jobs in documents of dialects. */
const jobRule: Rule = (job, found) => checkJobRules(objectAt(job, "spec") ?? {}, ["spec"], found);

/** Pods of an Indexed Job have the hostname `<job>-<index>`, a DNS label. */
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

/** At creation: a selector needs `manualSelector` and must match the template. */
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

const manualSelectorRule: Rule = (job, { errors }, old) => {
  const manual = isTrueAt(job, "spec", "manualSelector");
  if (old === undefined && manual && objectAt(job, "spec", "selector") === undefined)
    errors.push(fieldError.required("spec.selector"));
};

/** Fields that must not change once Pods may exist. */
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
  // KEP-3715: elastic indexed Jobs.
  const isScaled =
    textAt(job, "spec", "completionMode") === "Indexed" &&
    valueAt(job, "spec", "completions") === valueAt(job, "spec", "parallelism");
  if (!isScaled) demand("completions");
  // A suspended Job that has not started has no Pods.
  const mayChange = isTrueAt(old, "spec", "suspend") && textAt(old, "status", "startTime") === undefined;
  if (!mayChange) demand("template");
};

/** `status.successful` is Kubernetes' field label. */
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
