import { textsAt } from "#lib/base/index.ts";
import type { Component, Policy } from "../app.ts";

/** Copies of the selected components, one for each key of each policy of type `replication`. */
export function replicateComponents(
  components: readonly Component[],
  policies: readonly Policy[],
): readonly Component[] {
  let result = components;
  for (const { type, properties } of policies) {
    if (type !== "replication") continue;
    const keys = [...new Set(textsAt(properties, "keys"))];
    const selector = textsAt(properties, "selector");
    if (keys.length === 0) continue;
    result = result.flatMap((component) =>
      selector.length > 0 && !selector.includes(component.name)
        ? [component]
        : keys.map((replicaKey) => ({ ...component, replicaKey })),
    );
  }
  return result;
}
