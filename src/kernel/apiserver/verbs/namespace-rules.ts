import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { forbidden, Namespace, notFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Transaction } from "../store/store.ts";
import { isTerminating } from "./metadata.ts";
import { namespaceKey } from "./storage-view.ts";

export const initialNamespaces = ["default", "kube-system", "kube-public", "slipway-system"] as const;
/** kube-apiserver refuses the same three. */
const undeletable: readonly string[] = ["default", "kube-system", "kube-public"];

export const isNamespace = (resource: ServedResource): boolean =>
  resource.type.group === "" && resource.type.plural === "namespaces";

/** 404 for a missing namespace, 403 for a terminating one with the cause that clients recognize. */
export function checkNamespace(
  transaction: Transaction,
  resource: ServedResource,
  namespace: string,
  name: string,
): void {
  if (!resource.type.namespaced) return;
  // The head: the namespace's deletion may be on its way to the disk.
  const entry = transaction.head(namespaceKey(namespace));
  if (entry === undefined) throw notFound(Namespace, namespace);
  if (!isTerminating(entry.object())) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  throw forbidden(resource.type, name, why, [cause]);
}

/** 403: the server needs these itself. */
export function checkNamespaceDeletion(resource: ServedResource, name: string): void {
  if (isNamespace(resource) && undeletable.includes(name)) {
    throw forbidden(resource.type, name, "this namespace may not be deleted");
  }
}

/** `spec.finalizers`, which keep a namespace until its content is gone. */
export function specFinalizers(object: JsonObject): readonly string[] {
  const { spec } = object;
  const finalizers = isJsonObject(spec) ? spec["finalizers"] : undefined;
  return Array.isArray(finalizers) ? finalizers.filter((name: JsonValue) => typeof name === "string") : [];
}
