import {
  type FieldPath,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { qualifiedNameRule } from "#kernel/model/index.ts";
import { checkNamed, checkNotNegative, checkOneOf, type Report } from "./findings.ts";
import { countIndexes } from "./index-list.ts";

// A Job's policies: which failures count (KEP-3329), and when an Indexed Job succeeds early (KEP-3998).

const mostRules = 20;
const mostExitCodes = 255;
const mostConditions = 20;
const actions = ["Count", "FailIndex", "FailJob", "Ignore"];

/** Checks `podFailurePolicy` and what it requires of the rest of the spec. */
export function checkFailurePolicy(spec: JsonObject, at: FieldPath, report: Report): void {
  const policy = objectAt(spec, "podFailurePolicy");
  if (policy === undefined) return;
  const here = [...at, "podFailurePolicy", "rules"];
  const rules = objectsAt(policy, "rules");
  const restart = textAt(spec, "template", "spec", "restartPolicy");
  if (restart === "OnFailure") {
    // A container that restarts inside its Pod never fails the Pod.
    const where = [...at, "template", "spec", "restartPolicy"];
    report(fieldError.invalid(where, restart, 'only "Never" is supported when podFailurePolicy is specified'));
  }
  if (textAt(spec, "podReplacementPolicy") === "TerminatingOrFailed")
    report(fieldError.notSupported([...at, "podReplacementPolicy"], "TerminatingOrFailed", ["Failed"]));
  if (rules.length > mostRules) report(fieldError.tooMany(here, rules.length, mostRules));
  for (const [index, rule] of rules.entries()) checkFailureRule(rule, [...here, index], spec, report);
}

/** A rule checks exit codes or Pod conditions, never both. */
function checkFailureRule(rule: JsonObject, at: FieldPath, spec: JsonObject, report: Report) {
  const action = textAt(rule, "action");
  if (action === undefined) report(fieldError.required([...at, "action"]));
  else checkOneOf(rule, "action", actions, at, report);
  if (action === "FailIndex" && valueAt(spec, "backoffLimitPerIndex") === undefined)
    report(fieldError.invalid([...at, "action"], action, "requires the backoffLimitPerIndex to be set"));
  const codes = objectAt(rule, "onExitCodes");
  const conditions = objectsAt(rule, "onPodConditions");
  if (codes !== undefined) checkExitCodes(codes, [...at, "onExitCodes"], spec, report);
  checkConditions(conditions, [...at, "onPodConditions"], report);
  if ((codes === undefined) === (conditions.length === 0)) {
    const found = codes === undefined ? "neither" : "both";
    report(fieldError.invalid(at, rule, `exactly one of onExitCodes and onPodConditions is required, found ${found}`));
  }
}

/** Without `containerName`, all containers count, init containers included. */
function checkExitCodes(codes: JsonObject, at: FieldPath, spec: JsonObject, report: Report) {
  const operator = textAt(codes, "operator");
  if (operator === undefined) report(fieldError.required([...at, "operator"]));
  else checkOneOf(codes, "operator", ["In", "NotIn"], at, report);
  checkCodeValues(listAt(codes, "values"), operator, [...at, "values"], report);
  const name = textAt(codes, "containerName");
  const pod = objectAt(spec, "template", "spec");
  const known = [...objectsAt(pod, "containers"), ...objectsAt(pod, "initContainers")].map((one) => one["name"]);
  if (name !== undefined && !known.includes(name)) {
    const detail = "must be one of the container or initContainer names in the pod template";
    report(fieldError.invalid([...at, "containerName"], name, detail));
  }
}

/** Sorted and unique; 0 is success, which no failure ends with. */
function checkCodeValues(values: readonly unknown[], operator: string | undefined, at: FieldPath, report: Report) {
  if (values.length === 0) report(fieldError.invalid(at, values, "at least one value is required"));
  if (values.length > mostExitCodes) {
    report(fieldError.tooMany(at, values.length, mostExitCodes));
    return;
  }
  for (const [index, value] of values.entries()) {
    if (value === 0 && operator === "In")
      report(fieldError.invalid([...at, index], value, "must not be 0 for the In operator"));
    if (values.indexOf(value) < index) report(fieldError.duplicate([...at, index], value));
  }
  const isOrdered = values.every((value, index) => index === 0 || Number(values[index - 1]) <= Number(value));
  if (!isOrdered) report(fieldError.invalid(at, values, "must be ordered"));
}

/** The type may be any qualified name; an absent status means True. */
function checkConditions(patterns: readonly JsonObject[], at: FieldPath, report: Report) {
  if (patterns.length > mostConditions) report(fieldError.tooMany(at, patterns.length, mostConditions));
  for (const [index, pattern] of patterns.entries()) {
    checkNamed(pattern, "type", qualifiedNameRule, [...at, index], report);
    checkOneOf(pattern, "status", ["True", "False", "Unknown"], [...at, index], report);
  }
}

const longestIndexes = 65_536;

/** Checks `successPolicy`. That it needs indexes is checked elsewhere. */
export function checkSuccessPolicy(spec: JsonObject, at: FieldPath, report: Report): void {
  const policy = objectAt(spec, "successPolicy");
  if (policy === undefined || textAt(spec, "completionMode") !== "Indexed") return;
  const here = [...at, "successPolicy", "rules"];
  const rules = objectsAt(policy, "rules");
  if (rules.length === 0) report(fieldError.required(here, "at least one rule is required"));
  if (rules.length > mostRules) report(fieldError.tooMany(here, rules.length, mostRules));
  for (const [index, rule] of rules.entries())
    checkSuccessRule(rule, [...here, index], numberAt(spec, "completions"), report);
}

/** If both are given, `succeededCount` counts among `succeededIndexes` and must not exceed their number. */
function checkSuccessRule(rule: JsonObject, at: FieldPath, completions: number | undefined, report: Report) {
  const [indexes, count] = [rule["succeededIndexes"], numberAt(rule, "succeededCount")];
  if (valueAt(rule, "succeededIndexes") === undefined && valueAt(rule, "succeededCount") === undefined)
    report(fieldError.required(at, "at least one of succeededCount or succeededIndexes must be specified"));
  checkNotNegative(rule, ["succeededCount"], at, report);
  // The missing number is reported elsewhere.
  if (completions === undefined) return;
  const atMost = (limit: number, what: string) => {
    if (count !== undefined && count > limit)
      report(fieldError.invalid([...at, "succeededCount"], count, `must be less than or equal to ${limit} (${what})`));
  };
  atMost(completions, "the number of specified completions");
  if (typeof indexes !== "string") return;
  const here = [...at, "succeededIndexes"];
  if (indexes.length > longestIndexes) return report(fieldError.tooLong(here, longestIndexes));
  const counted = countIndexes(indexes, completions);
  if (!counted.ok) report(fieldError.invalid(here, indexes, counted.error));
  else atMost(counted.value, "the number of indexes in the specified succeededIndexes field");
}
