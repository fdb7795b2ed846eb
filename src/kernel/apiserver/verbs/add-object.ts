import { formatTime, type JsonObject } from "#lib/base/index.ts";
import { apiVersionOf, type ResourceType, ServiceAccount } from "#kernel/model/index.ts";
import type { Transaction } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { metaText, withMetadata } from "./metadata.ts";
import { keyFor } from "./storage-view.ts";

/** Without checks, but with uid, time, generation and defaults. False when the name exists. */
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

/** The account of a new namespace, in the same write: Pods may follow at once. */
export function addDefaultAccount(context: ApiContext, transaction: Transaction, namespace: string): void {
  addObject(context, transaction, ServiceAccount, { metadata: { name: "default", namespace } });
}
