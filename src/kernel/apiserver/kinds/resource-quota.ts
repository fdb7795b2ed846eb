import { type FieldPath, jsonEquals, objectAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { parseQuantity } from "#lib/text/index.ts";
import { qualifiedNameRule, ResourceQuota } from "#kernel/model/index.ts";
import { definitionNames, scalarText } from "#kernel/specs/index.ts";
import { resourceQuotaTable } from "../tables/resource-quota.ts";
import type { BuiltIn, Rule } from "./built-in.ts";
import { measureOf } from "./quota-measures.ts";

// Enforced: pods, services(.nodeports|.loadbalancers), configmaps, secrets, persistentvolumeclaims, resourcequotas, count/<plural>.<group>.
// Kept without effect, with a Warning: amounts of CPU, memory and storage, scopes, names of other domains.
// ResourceQuotas as they are stored. Counting is done where objects are created (../verbs/quota.ts).

const at: FieldPath = ["spec", "hard"];

/** Amounts of machines that Kubernetes knows by name. They are kept for those who read them. */
const amounts: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "ephemeral-storage",
  "requests.cpu",
  "requests.memory",
  "requests.ephemeral-storage",
  "requests.storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "replicationcontrollers",
]);

/** Limits are quantities that are not negative; what is counted comes in whole numbers. Who believes in a limit that is none is told. */
const hardRule: Rule = (quota, { errors, warnings }) => {
  for (const [name, value] of Object.entries(objectAt(quota, "spec", "hard") ?? {})) {
    const here = [...at, name];
    const quantity = parseQuantity(scalarText(value));
    const isCounted = measureOf(name) !== undefined;
    // Names are keys of a map in the status too, so they follow the rules of keys.
    const problem = qualifiedNameRule(name);
    if (problem !== undefined) errors.push(fieldError.invalid(here, name, problem));
    else if (!isCounted && !amounts.has(name) && !name.includes("/"))
      errors.push(fieldError.invalid(here, name, "must be a standard resource for quotas"));
    if (!quantity.ok) continue;
    if (quantity.value.nano < 0n) errors.push(fieldError.invalid(here, value, "must be greater than or equal to 0"));
    else if (isCounted && quantity.value.nano % 1_000_000_000n !== 0n)
      errors.push(fieldError.invalid(here, value, "must be an integer"));
    if (!isCounted) warnings.push(`spec.hard[${name}]: kept, not enforced: this server counts objects only`);
  }
};

/** A quota that limits nothing is worse than none if nobody says so. */
const scopeRule: Rule = (quota, { warnings }) => {
  if (valueAt(quota, "spec", "scopes") === undefined && valueAt(quota, "spec", "scopeSelector") === undefined) return;
  warnings.push("spec.scopes, spec.scopeSelector: kept, not evaluated: a quota with scopes limits nothing here");
};

/** As in Kubernetes: a quota that suddenly means other Pods would be over its limits without anybody having done anything. */
const scopesAreImmutable: Rule = (quota, { errors }, old) => {
  const [after, before] = [valueAt(quota, "spec", "scopes"), valueAt(old, "spec", "scopes")];
  if (!jsonEquals(after ?? [], before ?? []))
    errors.push(fieldError.invalid("spec.scopes", after, "field is immutable"));
};

/** Status is written by the server (../gc/quotas.ts). */
export const resourceQuotaKind: BuiltIn = {
  type: ResourceQuota,
  definition: definitionNames.resourceQuota,
  table: resourceQuotaTable,
  subresources: ["status"],
  prepareForCreate: (quota) => ({ ...quota, status: {} }),
  rules: [hardRule, scopeRule],
  updateRules: [scopesAreImmutable],
};
