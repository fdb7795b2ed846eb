import { jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { Job } from "#kernel/model/index.ts";
import { jobTable } from "../tables/job.ts";
import type { BuiltIn, Findings, Rule } from "./built-in.ts";
import { checkOneOf, type Report } from "./container-rules.ts";
import { definitionNames } from "./definitions.ts";
import { checkFailurePolicy, checkSuccessPolicy } from "./job-policy-rules.ts";
import { withPodSpecDefaults } from "./pod-defaults.ts";
import { checkPodSpec, checkTemplateMetadata } from "./pod-rules.ts";
import { isTrueAt, mapMember, numberAt, objectAt, textAt, valueAt, withAbsent } from "./read.ts";

const controllerUid = "batch.kubernetes.io/controller-uid";
const jobName = "batch.kubernetes.io/job-name";
const unlimited = 2_147_483_647;

function withJobDefaults(job: JsonObject): JsonObject {
  const filled = mapMember(job, "spec", withSpecDefaults);
  const labels = objectAt(filled, "spec", "template", "metadata", "labels");
  if (labels === undefined || Object.keys(objectAt(filled, "metadata", "labels") ?? {}).length > 0) return filled;
  return mapMember(filled, "metadata", (metadata) => ({ ...metadata, labels }));
}

function withSpecDefaults(spec: JsonObject): JsonObject {
  const counted =
    valueAt(spec, "completions") === undefined && valueAt(spec, "parallelism") === undefined
      ? { ...spec, completions: 1, parallelism: 1 }
      : spec;
  const perIndex = numberAt(counted, "backoffLimitPerIndex") !== undefined;
  const filled = withAbsent(counted, {
    parallelism: 1,
    backoffLimit: perIndex ? unlimited : 6,
    completionMode: "NonIndexed",
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: objectAt(counted, "podFailurePolicy") === undefined ? "TerminatingOrFailed" : "Failed",
  });
  return mapMember(filled, "template", (template) => mapMember(template, "spec", withPodSpecDefaults));
}

/** The server chooses the selector by the job's uid, so that no two jobs ever share pods. */
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

const jobRule: Rule = (job, found) => {
  const spec = objectAt(job, "spec") ?? {};
  const report: Report = (error) => found.errors.push(error);
  for (const name of [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
    "ttlSecondsAfterFinished",
  ]) {
    const value = numberAt(spec, name);
    if (value !== undefined && value < 0)
      report(fieldError.invalid(["spec", name], value, "must be greater than or equal to 0"));
  }
  checkOneOf(spec, "completionMode", ["NonIndexed", "Indexed"], ["spec"], report);
  checkOneOf(spec, "podReplacementPolicy", ["TerminatingOrFailed", "Failed"], ["spec"], report);
  checkIndexed(spec, report);
  checkTemplate(objectAt(spec, "template") ?? {}, found);
  checkFailurePolicy(spec, report);
  checkSuccessPolicy(spec, report);
};

function checkIndexed(spec: JsonObject, report: Report) {
  if (textAt(spec, "completionMode") === "Indexed") {
    if (numberAt(spec, "completions") === undefined) {
      report(fieldError.required("spec.completions", "when completion mode is Indexed"));
    }
    return;
  }
  for (const name of ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"]) {
    if (valueAt(spec, name) !== undefined)
      report(fieldError.forbidden(["spec", name], "requires completion mode Indexed"));
  }
}

function checkTemplate(template: JsonObject, found: Findings) {
  const at = ["spec", "template"];
  checkTemplateMetadata(template, at, found);
  const spec = objectAt(template, "spec");
  if (spec === undefined) {
    found.errors.push(fieldError.required([...at, "spec"]));
    return;
  }
  checkPodSpec(spec, [...at, "spec"], found);
  const policy = textAt(spec, "restartPolicy");
  if (policy === "Always" || policy === undefined) {
    // The message begins with the value a person wrote, or did not write: Always is what an absent policy means.
    found.errors.push(fieldError.notSupported([...at, "spec", "restartPolicy"], policy ?? "", ["OnFailure", "Never"]));
  }
}

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
  // An indexed job may be scaled together with its parallelism.
  const isScaled =
    textAt(job, "spec", "completionMode") === "Indexed" &&
    valueAt(job, "spec", "completions") === valueAt(job, "spec", "parallelism");
  if (!isScaled) demand("completions");
  // No pod has been made from the template of a job that is suspended and has not started.
  const mayChange = isTrueAt(old, "spec", "suspend") && textAt(old, "status", "startTime") === undefined;
  if (!mayChange) demand("template");
};

export const jobKind: BuiltIn = {
  type: Job,
  definition: definitionNames.job,
  table: jobTable,
  subresources: ["status"],
  hasGeneration: true,
  defaults: withJobDefaults,
  prepareForCreate: (job) => ({ ...withSelector(job), status: {} }),
  rules: [jobRule, selectorRule, manualSelectorRule],
  updateRules: [immutableRule],
  fields: { "status.successful": (job) => String(numberAt(job, "status", "succeeded") ?? 0) },
};
