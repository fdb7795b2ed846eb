import type { FieldPath, JsonObject } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { checkOneOf, checkUnion, type Report } from "./container-rules.ts";
import { listAt, numberAt, objectAt, objectsAt, textAt } from "./read.ts";

const mostRules = 20;

/** Rules of `spec.podFailurePolicy`. */
export function checkFailurePolicy(spec: JsonObject, report: Report): void {
  const policy = objectAt(spec, "podFailurePolicy");
  if (policy === undefined) return;
  const at = ["spec", "podFailurePolicy", "rules"];
  const rules = objectsAt(policy, "rules");
  if (textAt(spec, "template", "spec", "restartPolicy") !== "Never") {
    report(fieldError.invalid("spec.template.spec.restartPolicy", "", "must be Never when podFailurePolicy is set"));
  }
  if (rules.length > mostRules) report(fieldError.tooMany(at, rules.length, mostRules));
  const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
  for (const [index, rule] of rules.entries()) {
    const here = [...at, index];
    if (textAt(rule, "action") === undefined) report(fieldError.required([...here, "action"]));
    checkOneOf(rule, "action", actions, here, report);
    if (textAt(rule, "action") === "FailIndex" && numberAt(spec, "backoffLimitPerIndex") === undefined) {
      report(fieldError.invalid([...here, "action"], "FailIndex", "requires backoffLimitPerIndex"));
    }
    const conditions = listAt(rule, "onPodConditions").length > 0 ? { onPodConditions: rule["onPodConditions"] } : {};
    checkUnion({ onExitCodes: rule["onExitCodes"], ...conditions }, ["onExitCodes", "onPodConditions"], here, report);
    checkExitCodes(rule, here, spec, report);
  }
}

function checkExitCodes(rule: JsonObject, at: FieldPath, spec: JsonObject, report: Report) {
  const codes = objectAt(rule, "onExitCodes");
  if (codes === undefined) return;
  const here = [...at, "onExitCodes"];
  checkOneOf(codes, "operator", ["In", "NotIn"], here, report);
  const values = listAt(codes, "values");
  if (values.length === 0) report(fieldError.invalid([...here, "values"], [], "at least one value is required"));
  if (textAt(codes, "operator") === "In" && values.includes(0)) {
    report(fieldError.invalid([...here, "values"], 0, "must not be 0 with operator In: 0 is success"));
  }
  const name = textAt(codes, "containerName");
  const pod = objectAt(spec, "template", "spec");
  const known = [...objectsAt(pod, "containers"), ...objectsAt(pod, "initContainers")].map((one) => one["name"]);
  if (name !== undefined && !known.includes(name)) {
    report(
      fieldError.invalid(
        [...here, "containerName"],
        name,
        "must be one of the container or initContainer names in the template",
      ),
    );
  }
}

/** Rules of `spec.successPolicy`. */
export function checkSuccessPolicy(spec: JsonObject, report: Report): void {
  const policy = objectAt(spec, "successPolicy");
  if (policy === undefined) return;
  const at = ["spec", "successPolicy", "rules"];
  const rules = objectsAt(policy, "rules");
  if (rules.length === 0) report(fieldError.required(at, "at least one rule is required"));
  if (rules.length > mostRules) report(fieldError.tooMany(at, rules.length, mostRules));
  for (const [index, rule] of rules.entries()) {
    if (textAt(rule, "succeededIndexes") === undefined && numberAt(rule, "succeededCount") === undefined) {
      report(fieldError.required([...at, index], "must specify succeededIndexes or succeededCount"));
    }
  }
}
