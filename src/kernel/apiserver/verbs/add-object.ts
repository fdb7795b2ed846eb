import { formatTime, type JsonObject } from "#lib/base/index.ts";
import { apiVersionOf, type ResourceType, ServiceAccount } from "#kernel/model/index.ts";
import type { Transaction } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { metaText, withMetadata } from "./metadata.ts";
import { keyFor } from "./storage-view.ts";

/**
 * Stores an object that the server makes itself, as part of a write; nothing of it is checked. False when there is one of this name,
 * whatever is in it: what a user has changed is not changed back. It gets what a create would give it: uid, time, generation, defaults of
 * its kind.
 */
export function addObject(
  context: ApiContext,
  transaction: Transaction,
  type: ResourceType,
  object: JsonObject,
): boolean {
  const resource = context.registry().find(type.group, type.version, type.plural);
  if (resource === undefined) throw new Error(`the built-in kind ${type.kind} is not served`);
  const key = keyFor(resource, metaText(object, "namespace"), metaText(object, "name"));
  if (transaction.head(key) !== undefined) return false;
  const { hasGeneration } = resource;
  const birth = {
    uid: context.newUid(),
    creationTimestamp: formatTime(context.clock.now()),
    ...(hasGeneration ? { generation: 1 } : {}),
  };
  const typed = { apiVersion: apiVersionOf(type), kind: type.kind, ...object };
  transaction.put(key, resource.prepareForCreate(withMetadata(typed, birth)));
  return true;
}

/** The account of a new namespace, in the same write: Pods that come right after the namespace find it. Kubernetes makes it a moment later. */
export function addDefaultAccount(context: ApiContext, transaction: Transaction, namespace: string): void {
  addObject(context, transaction, ServiceAccount, { metadata: { name: "default", namespace } });
}
