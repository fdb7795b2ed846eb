import { apiVersionOf } from "#kernel/model/index.ts";
import { isJsonObject, type JsonObject, isTrueAt, objectsAt, textAt } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

/** The version that discovery lists first on this server, if it is served. */
export const preferredVersionAnnotation = "slipway.dev/preferred-version";

/** Prefers the stored version. Returns the same definition if it has one version. */
export function preferringStored<T extends JsonObject>(definition: T): T {
  const versions = objectsAt(definition, "spec", "versions");
  const stored = versions.find((version) => isTrueAt(version, "storage"));
  if (stored === undefined || versions.length < 2) return definition;
  const metadata = isJsonObject(definition["metadata"]) ? definition["metadata"] : {};
  const present = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
  const annotations = { ...present, [preferredVersionAnnotation]: textAt(stored, "name") ?? "" };
  return { ...definition, metadata: { ...metadata, annotations } };
}

type GroupVersion = Parameters<typeof apiVersionOf>[0];

/** Preferred versions first, then by Kubernetes' priority. */
export function discoveryOrder(resources: readonly ServedResource[]): (a: GroupVersion, b: GroupVersion) => number {
  const asked = new Set(resources.filter(({ isPreferred }) => isPreferred).map(({ type }) => apiVersionOf(type)));
  const rank = (version: GroupVersion): number => (asked.has(apiVersionOf(version)) ? 0 : 1);
  return (a, b) => rank(a) - rank(b) || compareVersions(a.version, b.version);
}

// "Version priority" of Kubernetes' documentation on CustomResourceDefinitions.

const kubernetesVersion = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
/** Stable before beta before alpha. */
const ranks: Readonly<Record<string, number>> = { "": 2, beta: 1, alpha: 0 };

/** v10, v2, v1, v1beta2, v1beta1, v1alpha1, then other words (also `v0`, `v01`) by name. 0 only for equal texts. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [kubernetesVersion.exec(a), kubernetesVersion.exec(b)];
  if (left === null || right === null) {
    if (left !== null) return -1;
    if (right !== null) return 1;
    return a === b ? 0 : a < b ? -1 : 1;
  }
  const rank = (match: RegExpExecArray) => ranks[match[2] ?? ""] ?? 0;
  return rank(right) - rank(left) || Number(right[1]) - Number(left[1]) || Number(right[3] ?? 0) - Number(left[3] ?? 0);
}
