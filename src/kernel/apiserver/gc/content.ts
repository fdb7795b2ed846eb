import { isConflict, isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { deleteObject } from "../verbs/delete.ts";
import { finalizersOf, isTerminating } from "../verbs/metadata.ts";
import { collectionOf } from "../verbs/storage-view.ts";

/** Objects deleted at once: one group commit, and others have their turn after it. */
const chunk = 500;

/** What is left after every object was asked to go: for the conditions of a namespace, and for whether to come back. */
export interface Remaining {
  readonly objects: number;
  /** What the first 500 of them wait for: how many objects have each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
}

/**
 * Deletes every object of a kind (in one namespace, or in all), by the ordinary rules: some may take their time. Idempotent; objects
 * created meanwhile behind the place it has come to stay, which is why callers forbid creation first.
 */
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

/**
 * As a client's DELETE with its uid: what has the name meanwhile is another object and stays. In the background, whatever the kind would
 * do by itself: dependants in the same namespace go anyway.
 */
async function deleteEntry(context: ApiContext, resource: ServedResource, entry: Entry): Promise<void> {
  if (isTerminating(entry.object())) return;
  const { namespace, name } = entry.key;
  try {
    const options = { propagationPolicy: "Background", preconditions: { uid: entry.uid } };
    await deleteObject(context, resource, { namespace, name }, options);
  } catch (thrown) {
    // Gone or replaced meanwhile: what is there now is looked at again.
    if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
  }
}

/** Counting objects is exact; finalizers are those of the first 500 objects, enough to tell a person. */
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
