import { createHash } from "node:crypto";
import type { JsonObject } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { singularOf } from "../crds/names.ts";
import type { ServedResource, Subresource } from "../kinds/served-resource.ts";
import type { ApiGroup, ApiVersion } from "./groups.ts";
import { evictionType } from "../verbs/evict.ts";

// Discovery documents of older clients, one per group and version.

export const apiVersions = (core: ApiGroup): JsonObject => ({
  kind: "APIVersions",
  versions: core.versions.map(({ version }) => version),
  serverAddressByClientCIDRs: [],
});

export const apiGroupList = (groups: readonly ApiGroup[]): JsonObject => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: groups.filter(({ name }) => name !== "").map(groupEntry),
});

export const apiGroup = (group: ApiGroup): JsonObject => ({ kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) });

/** The first version is preferred. */
function groupEntry({ name, versions }: ApiGroup): JsonObject {
  const entries = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
  const [preferredVersion] = entries;
  return { name, versions: entries, preferredVersion };
}

/** `/api/v1` and `/apis/<group>/<version>`: kinds with their subresources. */
export const apiResourceList = (group: string, { version, resources }: ApiVersion): JsonObject => ({
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: apiVersionOf({ group, version }),
  resources: resources.flatMap((resource) => [
    resourceEntry(resource),
    ...resource.subresources.map((name) => subresourceEntry(resource, name)),
  ]),
});

function resourceEntry(resource: ServedResource): JsonObject {
  const { type, verbs, isReview } = resource;
  const { shortNames = [], categories = [] } = type;
  return {
    name: type.plural,
    singularName: singularOf(type),
    namespaced: type.namespaced,
    kind: type.kind,
    verbs: [...verbs].sort(),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(isReview === true ? {} : { storageVersionHash: storageVersionHash(resource) }),
  };
}

/** Kubernetes' formula, for storage migrators. */
function storageVersionHash({ type, storage }: ServedResource): string {
  const { group, version } = storage ?? type;
  return createHash("sha256").update(`${group}/${version}/${type.kind}`).digest().subarray(0, 8).toString("base64");
}

const subresourceEntry = ({ type }: ServedResource, name: Subresource): JsonObject => ({
  name: `${type.plural}/${name}`,
  singularName: "",
  namespaced: type.namespaced,
  ...shownKind(foreignKinds[name] ?? { kind: type.kind }),
  verbs: subresourceVerbs[name],
});

/** With group and version where they differ from the document's. */
const shownKind = ({
  kind,
  group = "",
  version = "",
}: {
  kind: string;
  group?: string;
  version?: string;
}): JsonObject => (group === "" ? { kind } : { group, version, kind });

export const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" } as const;

const tokenKind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" } as const;

/** The kind of a stream's parameters; never sent. */
const streamKind = (kind: string) => ({ group: "", version: "v1", kind });

/** Kinds of subresources that differ from their object's. */
export const foreignKinds: {
  readonly [name in Subresource]?: { readonly group: string; readonly version: string; readonly kind: string };
} = {
  scale: scaleKind,
  token: tokenKind,
  eviction: evictionType,
  exec: streamKind("PodExecOptions"),
  attach: streamKind("PodAttachOptions"),
  portforward: streamKind("PodPortForwardOptions"),
};

export const subresourceVerbs: Readonly<Record<Subresource, readonly string[]>> = {
  status: ["get", "patch", "update"],
  scale: ["get", "patch", "update"],
  log: ["get"],
  finalize: ["update"],
  token: ["create"],
  eviction: ["create"],
  exec: ["create", "get"],
  attach: ["create", "get"],
  portforward: ["create", "get"],
};
