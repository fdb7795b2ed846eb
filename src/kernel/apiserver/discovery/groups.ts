import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import { discoveryOrder } from "../crds/preferred-version.ts";

/** One version of an API group, with the kinds it serves in the registry's order. */
export interface ApiVersion {
  readonly version: string;
  readonly resources: readonly ServedResource[];
}

/**
 * An API group; `name` is empty for the core group. The preferred version stands first: one that a definition asks to be preferred,
 * then by Kubernetes' priority.
 */
export interface ApiGroup {
  readonly name: string;
  readonly versions: readonly ApiVersion[];
}

/**
 * Everything that is served, by group and version: the core group first, built-in groups, then groups of custom kinds by name. A group
 * stands where its first kind stands in the registry. O(kinds).
 */
export function apiGroups(registry: ResourceRegistry): readonly ApiGroup[] {
  const byGroup = new Map<string, Map<string, ServedResource[]>>();
  for (const resource of registry.all()) {
    const { group, version } = resource.type;
    const versions = byGroup.get(group) ?? new Map<string, ServedResource[]>();
    byGroup.set(group, versions);
    versions.set(version, [...(versions.get(version) ?? []), resource]);
  }
  const order = discoveryOrder(registry.all());
  return [...byGroup].map(([name, versions]) => ({
    name,
    versions: [...versions]
      .sort(([a], [b]) => order({ group: name, version: a }, { group: name, version: b }))
      .map(([version, resources]) => ({ version, resources })),
  }));
}
