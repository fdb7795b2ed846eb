import { type FieldPath, type JsonObject, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { fieldError, formatChecks } from "#lib/schema/index.ts";
import { labelValueRule, qualifiedNameRule } from "#kernel/model/index.ts";
import { checkOneOf, type Report } from "./findings.ts";
import { scalarText } from "./read.ts";

// Rules of a PodSpec about nodes and host names. Most of these fields have no effect on one machine, but a document
// must also be valid on a cluster.

export function checkPlacement(spec: JsonObject, at: FieldPath, report: Report): void {
  checkLabelMap(objectAt(spec, "nodeSelector"), [...at, "nodeSelector"], report);
  for (const [index, toleration] of objectsAt(spec, "tolerations").entries())
    checkToleration(toleration, [...at, "tolerations", index], report);
  for (const [index, alias] of objectsAt(spec, "hostAliases").entries()) {
    const ip = textAt(alias, "ip") ?? "";
    if (!isAddress(ip))
      report(fieldError.invalid([...at, "hostAliases", index, "ip"], ip, "must be a valid IP address"));
  }
}

/** A wrong key is reported at the map, a wrong value at its own place. */
export function checkLabelMap(labels: JsonObject | undefined, at: FieldPath, report: Report): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    const keyProblem = qualifiedNameRule(key);
    const valueProblem = labelValueRule(scalarText(value));
    if (keyProblem !== undefined) report(fieldError.invalid(at, key, keyProblem));
    if (valueProblem !== undefined) report(fieldError.invalid([...at, key], value, valueProblem));
  }
}

export const isAddress = (text: string): boolean =>
  ["ipv4", "ipv6"].some((format) => formatChecks.get(format)?.(text) === undefined);

/** Empty texts count as absent. */
function checkToleration(toleration: JsonObject, at: FieldPath, report: Report): void {
  const [key, operator, effect] = ["key", "operator", "effect"].map((name) => textAt(toleration, name) ?? "");
  const problem = key ? qualifiedNameRule(key) : undefined;
  if (problem !== undefined) report(fieldError.invalid([...at, "key"], key, problem));
  if (!key && operator !== "Exists")
    report(fieldError.invalid([...at, "operator"], operator ?? "", "must be Exists when `key` is empty"));
  if (toleration["tolerationSeconds"] !== undefined && effect !== "NoExecute")
    report(fieldError.invalid([...at, "effect"], effect ?? "", "must be NoExecute when `tolerationSeconds` is set"));
  if (operator === "Exists" && textAt(toleration, "value"))
    report(fieldError.invalid([...at, "value"], toleration["value"], "must be empty when `operator` is Exists"));
  if (operator) checkOneOf(toleration, "operator", ["Equal", "Exists"], at, report);
  if (effect) checkOneOf(toleration, "effect", ["NoSchedule", "PreferNoSchedule", "NoExecute"], at, report);
}
