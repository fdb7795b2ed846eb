import { getOrAdd, type JsonObject } from "#lib/base/index.ts";
import type { Documents } from "../http/documents.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import { openApiDocuments } from "../openapi/openapi-documents.ts";
import { aggregatedDiscovery, aggregatedType, preferredDiscovery } from "./aggregated.ts";
import { type ApiGroup, apiGroups } from "./groups.ts";
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from "./legacy.ts";
import { tagged, taggedReply, type TaggedText } from "./tagged.ts";

/** Discovery and OpenAPI documents by path; undefined for other paths. Caches, so a server has one. */
export function servedDocuments(): Documents {
  const sources = [discoveryDocuments(), openApiDocuments()];
  return async (registry, request) => {
    for (const source of sources) {
      const reply = await source(registry, request);
      if (reply !== undefined) return reply;
    }
    return undefined;
  };
}

/** Answers `/api`, `/apis` and the paths directly below; undefined for others. Cached per state of the registry. */
export function discoveryDocuments(): Documents {
  let cached:
    | { readonly generation: number; readonly registry: ResourceRegistry; readonly texts: Map<string, TaggedText> }
    | undefined;
  return (registry, request) => {
    const path = request.path.replace(/\/$/, "");
    if (cached?.registry !== registry || cached.generation !== registry.generation) {
      cached = { generation: registry.generation, registry, texts: new Map() };
    }
    const { texts } = cached;
    const remember = (name: string, make: () => JsonObject): TaggedText => {
      return getOrAdd(texts, name, () => tagged(JSON.stringify(make())));
    };
    const aggregated = path === "/api" || path === "/apis" ? preferredDiscovery(request.accept) : undefined;
    if (aggregated !== undefined) {
      const groups = () => apiGroups(registry).filter(({ name }) => (name === "") === (path === "/api"));
      const text = remember(`${path} ${aggregated}`, () => aggregatedDiscovery(groups(), aggregated));
      return taggedReply(text, request, aggregatedType(aggregated));
    }
    const document = legacyDocument(path, apiGroups(registry));
    return document === undefined
      ? undefined
      : taggedReply(
          remember(path, () => document),
          request,
          "application/json",
        );
  };
}

function legacyDocument(path: string, groups: readonly ApiGroup[]): JsonObject | undefined {
  const [, root, ...parts] = path.split("/");
  if (root !== "api" && root !== "apis") return undefined;
  if (path === "/apis") return apiGroupList(groups);
  const [name, version] = root === "api" ? ["", parts[0]] : parts;
  const group = groups.find((candidate) => candidate.name === name);
  if (group === undefined || parts.length > (root === "api" ? 1 : 2) || (root === "apis" && name === ""))
    return undefined;
  if (version === undefined) return root === "api" ? apiVersions(group) : apiGroup(group);
  const found = group.versions.find((candidate) => candidate.version === version);
  return found === undefined ? undefined : apiResourceList(group.name, found);
}
