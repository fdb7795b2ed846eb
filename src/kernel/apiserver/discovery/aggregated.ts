import type { JsonObject } from "#lib/base/index.ts";
import { singularOf } from "../crds/names.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiGroup } from "./groups.ts";
import { foreignKinds, subresourceVerbs } from "./legacy.ts";

/** `apidiscovery.k8s.io` (KEP-3352): clients before 1.30 only know v2beta1. */
export type AggregatedVersion = "v2" | "v2beta1";

/** Groups in one document. Clients take the first kind with a short name and the first version, so order matters. */
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

/** Without empty lists, as Go encodes it. Subresources except `scale` answer with the object's kind. */
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

/** Undefined for the older documents. The first known entry wins, without `q`, which clients do not use here. */
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

/** Clients check its parameters. */
export const aggregatedType = (version: AggregatedVersion): string =>
  `${mediaType};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
