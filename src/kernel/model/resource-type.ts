/** What the API needs to know of a kind to address it. Plain data; kinds declared with the schema builder carry it too. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** `v1` or `group/version`. */
export const apiVersionOf = (type: Pick<ResourceType, "group" | "version">): string =>
  type.group === "" ? type.version : `${type.group}/${type.version}`;

/** Undoes apiVersionOf. */
export function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** `pods` or `workflows.slipway.dev`, the name Kubernetes uses in messages. */
export const qualifiedResource = (type: Pick<ResourceType, "group" | "plural">): string =>
  type.group === "" ? type.plural : `${type.plural}.${type.group}`;

/** The collection's path: `/api/v1/namespaces/x/pods`, `/apis/batch/v1/jobs`. Names are percent-encoded. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${type.plural}`;
}
