import type { JsonObject } from "#lib/base/index.ts";
import { invalid } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { StoreKey, Transaction } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { metaText } from "./metadata.ts";
import { collectionOf } from "./storage-view.ts";

/**
 * The object with what its kind gives out, each thing once: 422 when it asks for what another one has. The object itself for kinds
 * that give nothing out, which are all but Services. Inside the critical section, so that two objects cannot be given the same.
 */
export function withAllotment(
  context: ApiContext,
  transaction: Transaction,
  resource: ServedResource,
  object: JsonObject,
  key: StoreKey,
): JsonObject {
  if (resource.allot === undefined) return object;
  const given = resource.allot(object, othersThan(key, transaction, resource), context.random);
  if (given.causes.length > 0) throw invalid(resource.type, metaText(object, "name"), given.causes);
  return given.object;
}

function* othersThan(key: StoreKey, transaction: Transaction, resource: ServedResource): Generator<JsonObject> {
  for (const entry of transaction.heads(collectionOf(resource)))
    if (entry.key.name !== key.name || entry.key.namespace !== key.namespace) yield entry.object();
}
