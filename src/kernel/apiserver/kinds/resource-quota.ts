import { type FieldPath, jsonEquals, objectAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { parseQuantity } from "#lib/text/index.ts";
import { qualifiedNameRule, ResourceQuota } from "#kernel/model/index.ts";
import { definitionNames, scalarText } from "#kernel/specs/index.ts";
import { resourceQuotaTable } from "../tables/resource-quota.ts";
import type { BuiltIn, Rule } from "./built-in.ts";
import { measureOf } from "./quota-measures.ts";

// Enforced when objects are created (../verbs/quota.ts): pods, services(.nodeports|.loadbalancers), configmaps,
// secrets, persistentvolumeclaims, resourcequotas, count/<plural>.<group>. Stored with a warning: CPU, memory, storage,
// scopes, other names.

const at: FieldPath = ["spec", "hard"];

/** Kubernetes' names that are stored without effect. */
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

/** Limits are not negative, counts are whole numbers. */
const hardRule: Rule = (quota, { errors, warnings }) => {
  for (const [name, value] of Object.entries(objectAt(quota, "spec", "hard") ?? {})) {
    const here = [...at, name];
    const quantity = parseQuantity(scalarText(value));
    const isCounted = measureOf(name) !== undefined;
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

const scopeRule: Rule = (quota, { warnings }) => {
  if (valueAt(quota, "spec", "scopes") === undefined && valueAt(quota, "spec", "scopeSelector") === undefined) return;
  warnings.push("spec.scopes, spec.scopeSelector: kept, not evaluated: a quota with scopes limits nothing here");
};

/** As in Kubernetes: other scopes could suddenly exceed the limits. */
const scopesAreImmutable: Rule = (quota, { errors }, old) => {
  const [after, before] = [valueAt(quota, "spec", "scopes"), valueAt(old, "spec", "scopes")];
  if (!jsonEquals(after ?? [], before ?? []))
    errors.push(fieldError.invalid("spec.scopes", after, "field is immutable"));
};

export const resourceQuotaKind: BuiltIn = {
  type: ResourceQuota,
  definition: definitionNames.resourceQuota,
  table: resourceQuotaTable,
  subresources: ["status"],
  prepareForCreate: (quota) => ({ ...quota, status: {} }),
  rules: [hardRule, scopeRule],
  updateRules: [scopesAreImmutable],
};
