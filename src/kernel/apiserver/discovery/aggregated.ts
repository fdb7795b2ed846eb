import type { JsonObject } from "#lib/base/index.ts";
import { singularOf } from "../crds/names.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiGroup } from "./groups.ts";
import { foreignKinds, subresourceVerbs } from "./legacy.ts";

/** Versions of `apidiscovery.k8s.io` (KEP-3352): clients before 1.30 know only the second. */
export type AggregatedVersion = "v2" | "v2beta1";

/**
 * Some groups in one document, as current clients ask for it on `/api` and `/apis`. Both versions have the same content. The order is
 * that of the argument, and means something: clients take the first kind that a short name fits, and the first version.
 */
export const aggregatedDiscovery = (groups: readonly ApiGroup[], version: AggregatedVersion): JsonObject => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: `apidiscovery.k8s.io/${version}`,
  metadata: {},
  items: groups.map((group) => ({
    metadata: { name: group.name, creationTimestamp: null },
    versions: group.versions.map((one) => ({
      version: one.version,
      resources: one.resources.map(resourceEntry),
      freshness: "Current",
    })),
  })),
});

/**
 * Empty lists are left out, as Go's encoder leaves them out. Verbs are sorted, which `ServedResource.verbs` need not be. The kind of
 * the answers is that of the object for every subresource but `scale`.
 */
function resourceEntry({ type, verbs, subresources }: ServedResource): JsonObject {
  const { group, version, kind, shortNames = [], categories = [] } = type;
  const ownKind = { group, version, kind };
  return {
    resource: type.plural,
    responseKind: ownKind,
    scope: type.namespaced ? "Namespaced" : "Cluster",
    singularResource: singularOf(type),
    verbs: [...verbs].sort(),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map((name) => ({
            subresource: name,
            responseKind: foreignKinds[name] ?? ownKind,
            verbs: subresourceVerbs[name],
          })),
        }),
  };
}

const mediaType = "application/json";

/**
 * What an Accept header prefers on `/api` and `/apis`: an aggregated version, or undefined for the older documents. The first entry
 * that is served wins, as clients list what they like best first; `q` is not looked at, because no client uses it here. Entries of
 * other types (protobuf) and of unknown versions are passed over. kubectl 1.30 and later sends v2, v2beta1 and plain JSON in one header.
 */
export function preferredDiscovery(accept: string): AggregatedVersion | undefined {
  for (const entry of accept.split(",")) {
    const [type, ...parameters] = entry.split(";").map((part) => part.trim());
    const given = new Set(parameters);
    if (type !== mediaType && type !== "*/*" && type !== "application/*") continue;
    const version = (["v2", "v2beta1"] as const).find((one) => given.has(`v=${one}`));
    const isDiscovery = given.has("g=apidiscovery.k8s.io") && given.has("as=APIGroupDiscoveryList");
    if (isDiscovery && version !== undefined) return version;
    if (!isDiscovery && !parameters.some((part) => part.startsWith("as="))) return undefined;
  }
  return undefined;
}

/** The Content-Type of an aggregated document: clients check that they got what they asked for, parameter by parameter. */
export const aggregatedType = (version: AggregatedVersion): string =>
  `${mediaType};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
