import { getOrAdd } from "#lib/base/index.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import { discoveryOrder } from "../crds/preferred-version.ts";

export interface ApiVersion {
  readonly version: string;
  readonly resources: readonly ServedResource[];
}

/** `name` is empty for the core group; the preferred version comes first. */
export interface ApiGroup {
  readonly name: string;
  readonly versions: readonly ApiVersion[];
}

/** Everything served: core first, then groups in registry order. */
export function apiGroups(registry: ResourceRegistry): readonly ApiGroup[] {
  const byGroup = new Map<string, Map<string, ServedResource[]>>();
  for (const resource of registry.all()) {
    const { group, version } = resource.type;
    const versions = getOrAdd(byGroup, group, () => new Map<string, ServedResource[]>());
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
