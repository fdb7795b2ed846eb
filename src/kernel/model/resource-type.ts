/**
 * What the API needs to address a kind. `kind` is the name in documents (`Pod`), `plural` the one in paths (`pods`).
 */
export interface ResourceType {
  /** Empty for the core group, whose paths begin with `/api` instead of `/apis/<group>`. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Names for command lines only, as are short names (`po`) and categories (`all`). */
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** `v1` or `group/version`: the `apiVersion` of documents. */
export const apiVersionOf = (type: Pick<ResourceType, "group" | "version">): string =>
  type.group === "" ? type.version : `${type.group}/${type.version}`;

/** Reverses apiVersionOf: `batch/v1` → group `batch`, version `v1`. */
export function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** `pods` or `workflows.slipway.dev`, as in Kubernetes' messages. */
export const qualifiedResource = (type: Pick<ResourceType, "group" | "plural">): string =>
  type.group === "" ? type.plural : `${type.plural}.${type.group}`;

/**
 * The collection's path: `/api/v1/namespaces/x/pods`, `/apis/batch/v1/jobs`. Without a namespace it covers all of them.
 */
export function collectionPath(type: ResourceType, namespace = ""): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${type.plural}`;
}
