import { isConflict, isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { deleteObject } from "../verbs/delete.ts";
import { finalizersOf, isTerminating } from "../verbs/metadata.ts";
import { collectionOf } from "../verbs/storage-view.ts";

/** Deleted in one commit. */
const chunk = 500;

export interface Remaining {
  readonly objects: number;
  /** Number of objects per finalizer, among the first 500. */
  readonly finalizers: ReadonlyMap<string, number>;
}

/** Idempotent. Callers forbid creation first: objects created meanwhile may stay. */
export async function deleteContent(
  context: ApiContext,
  resource: ServedResource,
  namespace?: string,
): Promise<Remaining> {
  const { store } = context;
  const scope = namespace === undefined ? {} : { namespace };
  let page = store.page(collectionOf(resource), { ...scope, limit: chunk });
  for (;;) {
    await Promise.all(page.entries.map((entry) => deleteEntry(context, resource, entry)));
    if (page.next === undefined) break;
    page = store.page(collectionOf(resource), { ...scope, limit: chunk, after: page.next });
  }
  return remaining(context, resource, namespace);
}

/** Deletes this very object, in the background, since its dependants in the namespace go anyway. */
async function deleteEntry(context: ApiContext, resource: ServedResource, entry: Entry): Promise<void> {
  if (isTerminating(entry.object())) return;
  const { namespace, name } = entry.key;
  try {
    const options = { propagationPolicy: "Background", preconditions: { uid: entry.uid } };
    await deleteObject(context, resource, { namespace, name }, options);
  } catch (thrown) {
    // Gone or replaced meanwhile; the next pass looks again.
    if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
  }
}

function remaining({ store }: ApiContext, resource: ServedResource, namespace: string | undefined): Remaining {
  const collection = collectionOf(resource);
  const objects = store.count(collection, namespace);
  const finalizers = new Map<string, number>();
  if (objects === 0) return { objects, finalizers };
  const { entries } = store.page(collection, { limit: chunk, ...(namespace === undefined ? {} : { namespace }) });
  for (const entry of entries) {
    for (const name of finalizersOf(entry.object())) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  }
  return { objects, finalizers };
}
