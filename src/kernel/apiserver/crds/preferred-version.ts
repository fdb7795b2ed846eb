import { apiVersionOf } from "#kernel/model/index.ts";
import { isJsonObject, type JsonObject, isTrueAt, objectsAt, textAt } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

/**
 * On a definition: the version of it that discovery names first, so that `kubectl get widgets` shows that one. Only
 * this server heeds it; others go by Kubernetes' priority of versions. A version that is not served is not preferred.
 */
export const preferredVersionAnnotation = "slipway.dev/preferred-version";

/**
 * The definition with the wish that clients prefer the version its objects are stored in. The same one when it has one
 * version only.
 */
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

/**
 * Orders versions of one group, the one to prefer first: those that definitions among these kinds ask for, then by
 * Kubernetes' priority.
 */
export function discoveryOrder(resources: readonly ServedResource[]): (a: GroupVersion, b: GroupVersion) => number {
  const asked = new Set(resources.filter(({ isPreferred }) => isPreferred).map(({ type }) => apiVersionOf(type)));
  const rank = (version: GroupVersion): number => (asked.has(apiVersionOf(version)) ? 0 : 1);
  return (a, b) => rank(a) - rank(b) || compareVersions(a.version, b.version);
}

// "Version priority" of Kubernetes' documentation on CustomResourceDefinitions: what clients prefer, and discovery
// lists first.

const kubernetesVersion = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
/** Stable before beta before alpha, whatever their numbers. */
const ranks: Readonly<Record<string, number>> = { "": 2, beta: 1, alpha: 0 };

/**
 * Orders versions by Kubernetes' priority, best first: v10, v2, v1, v1beta2, v1beta1, v1alpha1, then other words by
 * name. A total order: 0 only for equal texts. `v0` and `v01` are such other words.
 */
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
