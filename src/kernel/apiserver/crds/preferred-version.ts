import { isJsonObject, type JsonObject, isTrueAt, objectsAt, textAt } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { compareVersions } from "./version-priority.ts";

/**
 * On a definition: the version of it that discovery names first, so that `kubectl get widgets` shows that one. Only this server
 * heeds it; others go by Kubernetes' priority of versions. A version that is not served is not preferred.
 */
export const preferredVersionAnnotation = "slipway.dev/preferred-version";

/** The definition with the wish that clients prefer the version its objects are stored in. The same one when it has one version only. */
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

/** Orders versions of one group, the one to prefer first: those that definitions among these kinds ask for, then by Kubernetes' priority. */
export function discoveryOrder(resources: readonly ServedResource[]): (a: GroupVersion, b: GroupVersion) => number {
  const asked = new Set(resources.filter(({ isPreferred }) => isPreferred).map(({ type }) => apiVersionOf(type)));
  const rank = (version: GroupVersion): number => (asked.has(apiVersionOf(version)) ? 0 : 1);
  return (a, b) => rank(a) - rank(b) || compareVersions(a.version, b.version);
}
