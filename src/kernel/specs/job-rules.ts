import { type FieldPath, type JsonObject, numberAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { checkNotNegative, checkOneOf, type Findings, type Report } from "./findings.ts";
import { checkFailurePolicy, checkSuccessPolicy } from "./job-policy-rules.ts";
import { checkPodSpec, checkTemplateMetadata } from "./pod-rules.ts";

// Kubernetes' batch/v1 validation of a JobSpec alone. What depends on the Job's uid or its former state is checked
// where Jobs are stored.

/** Counts and seconds that may be 0. */
const counts = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
  "ttlSecondsAfterFinished",
];

/** Maximum number of indexes and parallel Pods of an Indexed Job, whose status lists them. */
const mostIndexes = 100_000;
/** Limit of parallelism and failed indexes for limits per index with more than `mostIndexes` completions (KEP-3850). */
const mostOfMany = 10_000;

/** Checks a JobSpec that has its defaults and the types of its schema. */
export function checkJobRules(spec: JsonObject, at: FieldPath, found: Findings): void {
  const report: Report = (error) => found.errors.push(error);
  checkNotNegative(spec, counts, at, report);
  checkOneOf(spec, "completionMode", ["NonIndexed", "Indexed"], at, report);
  checkOneOf(spec, "podReplacementPolicy", ["TerminatingOrFailed", "Failed"], at, report);
  checkIndexes(spec, at, report);
  checkManager(spec, at, report);
  checkTemplate(objectAt(spec, "template") ?? {}, [...at, "template"], found);
  checkFailurePolicy(spec, at, report);
  checkSuccessPolicy(spec, at, report);
}

/** Fields that only Indexed Jobs may or must have. */
function checkIndexes(spec: JsonObject, at: FieldPath, report: Report) {
  const mode = textAt(spec, "completionMode") ?? "NonIndexed";
  if (mode === "Indexed") checkIndexed(spec, at, report);
  // An unknown mode was reported already.
  if (mode !== "NonIndexed") return;
  for (const name of ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"]) {
    const value = valueAt(spec, name);
    if (value !== undefined) report(fieldError.invalid([...at, name], value, "requires indexed completion mode"));
  }
}

/** Completions must be known and limited. */
function checkIndexed(spec: JsonObject, at: FieldPath, report: Report) {
  const [completions, parallelism] = [numberAt(spec, "completions"), numberAt(spec, "parallelism")];
  const perIndex = valueAt(spec, "backoffLimitPerIndex") !== undefined;
  const mostFailed = numberAt(spec, "maxFailedIndexes");
  const atMost = (name: string, value: number | undefined, most: number, when: string) => {
    if (value !== undefined && value > most)
      report(fieldError.invalid([...at, name], value, `must be less than or equal to ${most} ${when}`));
  };
  if (completions === undefined) report(fieldError.required([...at, "completions"], "when completion mode is Indexed"));
  atMost("parallelism", parallelism, mostIndexes, "when completion mode is Indexed");
  if (mostFailed !== undefined && !perIndex)
    report(fieldError.required([...at, "backoffLimitPerIndex"], "when maxFailedIndexes is specified"));
  atMost("maxFailedIndexes", mostFailed, mostIndexes, "when completion mode is Indexed");
  if (completions === undefined) return;
  if (mostFailed !== undefined && mostFailed > completions)
    report(fieldError.invalid([...at, "maxFailedIndexes"], mostFailed, "must be less than or equal to completions"));
  if (!perIndex || completions <= mostIndexes) return;
  const why = `when completions are above ${mostIndexes} and used with backoff limit per index`;
  if (valueAt(spec, "maxFailedIndexes") === undefined)
    report(
      fieldError.required([...at, "maxFailedIndexes"], `must be specified when completions is above ${mostIndexes}`),
    );
  atMost("parallelism", parallelism, mostOfMany, why);
  atMost("maxFailedIndexes", mostFailed, mostOfMany, why);
}

const longestManager = 63;
const domainPrefixedPath =
  /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/[^\s/?#%]+(?:\/[^\s/?#%]+)*$/;

/** `managedBy` names a controller as `example.com/controller`. */
function checkManager(spec: JsonObject, at: FieldPath, report: Report) {
  const manager = spec["managedBy"];
  if (typeof manager !== "string") return;
  const here = [...at, "managedBy"];
  if (!domainPrefixedPath.test(manager))
    report(fieldError.invalid(here, manager, "must be a domain-prefixed path such as example.com/controller"));
  if (manager.length > longestManager) report(fieldError.tooLong(here, longestManager));
}

/** Pods of a Job must end, so containers must not always restart. */
function checkTemplate(template: JsonObject, at: FieldPath, found: Findings) {
  checkTemplateMetadata(template, at, found);
  const spec = objectAt(template, "spec");
  if (spec === undefined) {
    found.errors.push(fieldError.required([...at, "spec"]));
    return;
  }
  checkPodSpec(spec, [...at, "spec"], found);
  const policy = textAt(spec, "restartPolicy");
  if (policy === "Always" || policy === undefined) {
    // The message shows the value as written: an absent policy means Always.
    found.errors.push(fieldError.notSupported([...at, "spec", "restartPolicy"], policy ?? "", ["OnFailure", "Never"]));
  }
}
