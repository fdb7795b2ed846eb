import { type JsonObject, type JsonValue, listAt, objectAt, textAt } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { matchesLabels, readLabelSelector } from "#kernel/kit/index.ts";

export const isAggregated = (role: JsonObject): boolean => objectAt(role, "aggregationRule") !== undefined;

/** The rules of all roles that the aggregated role's selectors match, by name and without duplicates. */
export function aggregatedRules(role: JsonObject, roles: readonly JsonObject[]): readonly JsonValue[] {
  const selectors = listAt(role, "aggregationRule", "clusterRoleSelectors").flatMap((selector) => {
    const read = readLabelSelector(selector);
    return read.ok ? [read.value] : [];
  });
  const name = nameOf(role);
  const chosen = roles
    .filter((other) => nameOf(other) !== name)
    .filter((other) => selectors.some((selector) => matchesLabels(selector, labelsOf(other))))
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const rules = new Map<string, JsonValue>();
  for (const rule of chosen.flatMap((other) => listAt(other, "rules"))) {
    const text = canonicalJson(rule);
    if (!rules.has(text)) rules.set(text, rule);
  }
  return [...rules.values()];
}

const nameOf = (role: JsonObject): string => textAt(role, "metadata", "name") ?? "";
const labelsOf = (role: JsonObject): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(objectAt(role, "metadata", "labels") ?? {}).flatMap(([key, value]) =>
      typeof value === "string" ? [[key, value]] : [],
    ),
  );
