import type { JsonObject } from "#lib/base/index.ts";
import { invalid } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { StoreKey, Transaction } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { metaText } from "./metadata.ts";
import { collectionOf } from "./storage-view.ts";

/** Assigns what only one object may have; 422 when taken. Runs in the critical section. */
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
