import { type JsonObject, objectsAt, textAt, textsAt } from "#lib/base/index.ts";
import { apiVersionOf, type ResourceType, splitApiVersion } from "#kernel/model/index.ts";

// Both forms of discovery: aggregated documents (Kubernetes 1.27 and later), or one document per group and version. The
// server chooses by the Accept header.

export type GetJson = (path: string, accept: string) => Promise<JsonObject>;

/** Like kubectl: the newest form first. */
const aggregated =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
const plain = "application/json";

/** Kinds of a server, read once and again on a miss; concurrent misses share one read. A failed read is forgotten. */
export class Discovery {
  readonly #getJson: GetJson;
  #types: Promise<readonly ResourceType[]> | undefined;
  #reading: Promise<readonly ResourceType[]> | undefined;

  constructor(getJson: GetJson) {
    this.#getJson = getJson;
  }

  /** Undefined if the server does not serve it, after a read that is not older than this call. */
  async find(apiVersion: string, kind: string): Promise<ResourceType | undefined> {
    const matches = (type: ResourceType): boolean => apiVersionOf(type) === apiVersion && type.kind === kind;
    const known = (await this.#types?.catch(() => undefined))?.find(matches);
    return known ?? (await this.read()).find(matches);
  }

  read(): Promise<readonly ResourceType[]> {
    this.#reading ??= readTypes(this.#getJson).finally(() => (this.#reading = undefined));
    this.#types = this.#reading;
    return this.#reading;
  }
}

/** A proxy may give the core and the groups in different forms. */
async function readTypes(getJson: GetJson): Promise<readonly ResourceType[]> {
  const [core, groups] = await Promise.all([getJson("/api", aggregated), getJson("/apis", aggregated)]);
  const parts = await Promise.all([
    isAggregated(core) ? aggregatedTypes(core) : legacyCore(getJson, core),
    isAggregated(groups) ? aggregatedTypes(groups) : legacyGroups(getJson, groups),
  ]);
  return parts.flat();
}

const isAggregated = (document: JsonObject): boolean => document["kind"] === "APIGroupDiscoveryList";

function aggregatedTypes(document: JsonObject): readonly ResourceType[] {
  return objectsAt(document, "items").flatMap((group) => {
    const groupName = nameAt(group, "metadata", "name");
    return objectsAt(group, "versions").flatMap((version) =>
      objectsAt(version, "resources").map((resource) =>
        aggregatedType(groupName, nameAt(version, "version"), resource),
      ),
    );
  });
}

function aggregatedType(group: string, version: string, resource: JsonObject): ResourceType {
  return {
    group,
    version,
    kind: nameAt(resource, "responseKind", "kind"),
    plural: nameAt(resource, "resource"),
    namespaced: resource["scope"] === "Namespaced",
    ...names(nameAt(resource, "singularResource"), resource),
  };
}

async function legacyCore(getJson: GetJson, document: JsonObject): Promise<readonly ResourceType[]> {
  const versions = textsAt(document, "versions");
  return (await Promise.all(versions.map((version) => legacyTypes(getJson, version, `/api/${version}`)))).flat();
}

/** All versions, because a kind may exist only in an old one. */
async function legacyGroups(getJson: GetJson, document: JsonObject): Promise<readonly ResourceType[]> {
  const versions = objectsAt(document, "groups").flatMap((group) =>
    objectsAt(group, "versions").map((version) => nameAt(version, "groupVersion")),
  );
  return (await Promise.all(versions.map((version) => legacyTypes(getJson, version, `/apis/${version}`)))).flat();
}

async function legacyTypes(getJson: GetJson, apiVersion: string, path: string): Promise<readonly ResourceType[]> {
  const { group, version } = splitApiVersion(apiVersion);
  return objectsAt(await getJson(path, plain), "resources").flatMap((resource): ResourceType[] => {
    const plural = nameAt(resource, "name");
    // `pods/log` and the like are subresources.
    if (plural.includes("/")) return [];
    const namespaced = resource["namespaced"] === true;
    return [
      {
        group,
        version,
        kind: nameAt(resource, "kind"),
        plural,
        namespaced,
        ...names(nameAt(resource, "singularName"), resource),
      },
    ];
  });
}

function names(singular: string, resource: JsonObject): Pick<ResourceType, "singular" | "shortNames" | "categories"> {
  const [shortNames, categories] = [textsAt(resource, "shortNames"), textsAt(resource, "categories")];
  return {
    ...(singular === "" ? {} : { singular }),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

const nameAt = (object: JsonObject, ...path: readonly string[]): string => textAt(object, ...path) ?? "";
