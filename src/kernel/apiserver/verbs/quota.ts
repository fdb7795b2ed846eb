import { type JsonObject, listAt, objectAt } from "#lib/base/index.ts";
import { forbidden } from "#kernel/model/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import { measureOf, quotaAmount } from "../kinds/quota-measures.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, Transaction } from "../store/store.ts";
import { metaText } from "./metadata.ts";
import { collectionOf } from "./storage-view.ts";

export const quotas = { group: "", resource: "resourcequotas" } as const;

/** Counted in the critical section, so that two creations cannot both take the last place. 403 if exceeded. */
export function checkQuotas(transaction: Transaction, resource: ServedResource, object: JsonObject): void {
  if (!resource.type.namespaced) return;
  const namespace = metaText(object, "namespace");
  for (const quota of transaction.heads(quotas, namespace)) checkQuota(transaction, resource, object, quota);
}

function checkQuota(transaction: Transaction, resource: ServedResource, object: JsonObject, quota: Entry): void {
  const hard = objectAt(quota.object(), "spec", "hard") ?? {};
  const over: Record<"requested" | "used" | "limited", string[]> = { requested: [], used: [], limited: [] };
  const { group, resource: plural } = collectionOf(resource);
  if (hasScopes(quota.object())) return;
  for (const [name, limit] of Object.entries(hard)) {
    const measure = measureOf(name);
    if (measure?.group !== group || measure.resource !== plural) continue;
    const requested = measure.weigh?.(object) ?? 1;
    const used = usedOf(transaction, name, quota.key.namespace);
    if (requested === 0 || used + requested <= (quotaAmount(limit) ?? 0)) continue;
    over.requested.push(`${name}=${requested}`);
    over.used.push(`${name}=${used}`);
    over.limited.push(`${name}=${scalarText(limit)}`);
  }
  if (over.requested.length === 0) return;
  const { requested, used, limited } = over;
  const why = `exceeded quota: ${quota.key.name}, requested: ${requested.join(",")}, used: ${used.join(",")}, limited: ${limited.join(",")}`;
  throw forbidden(resource.type, metaText(object, "name"), why);
}

/** Scopes are stored but not evaluated, so such a quota limits nothing; the kind warns about it. */
export const hasScopes = (quota: JsonObject): boolean =>
  listAt(quota, "spec", "scopes").length > 0 || objectAt(quota, "spec", "scopeSelector") !== undefined;

/** How much the namespace holds of something; 0 for what cannot be counted. */
export function usedOf(transaction: Transaction, name: string, namespace: string): number {
  const measure = measureOf(name);
  if (measure === undefined) return 0;
  let used = 0;
  for (const entry of transaction.heads(measure, namespace)) used += measure.weigh?.(entry.object()) ?? 1;
  return used;
}
