/**
 * What the API needs to know of a kind to address it. Plain data; kinds declared with the schema builder carry it too. `kind` is the
 * word in documents (`Pod`), `plural` the one in paths (`pods`): neither can be made from the other, so both are given.
 */
export interface ResourceType {
  /** Empty for the core group, whose paths begin with `/api` instead of `/apis/<group>`. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** Objects live in a namespace, and their names are unique in it only. */
  readonly namespaced: boolean;
  /** For command lines, as are the short names (\`po\`) and the categories (\`all\`): no path has them. */
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** `v1` or `group/version`: the \`apiVersion\` of documents. */
export const apiVersionOf = (type: Pick<ResourceType, "group" | "version">): string =>
  type.group === "" ? type.version : `${type.group}/${type.version}`;

/** Undoes apiVersionOf: \`batch/v1\` → group \`batch\`, version \`v1\`; without a slash it is the core group. */
export function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** `pods` or `workflows.slipway.dev`, the name Kubernetes uses in messages. */
export const qualifiedResource = (type: Pick<ResourceType, "group" | "plural">): string =>
  type.group === "" ? type.plural : `${type.plural}.${type.group}`;

/**
 * The collection's path: `/api/v1/namespaces/x/pods`, `/apis/batch/v1/jobs`. Names are percent-encoded. Without a namespace, or with
 * an empty one, it is the collection of all namespaces; the namespace of a cluster-scoped kind means nothing.
 */
export function collectionPath(type: ResourceType, namespace = ""): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${type.plural}`;
}
