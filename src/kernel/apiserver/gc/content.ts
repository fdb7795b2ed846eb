import { isConflict, isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { deleteObject } from "../verbs/delete.ts";
import { finalizersOf, isTerminating } from "../verbs/metadata.ts";
import { collectionOf } from "../verbs/storage-view.ts";

const chunk = 500;

/** What is left after every object was asked to go. */
export interface Remaining {
  readonly objects: number;
  /** Objects that wait for finalizers of others. */
  readonly finalizers: readonly string[];
}

/** Deletes every object of a kind (in one namespace, or in all), by the ordinary rules: some may take their time. */
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

async function deleteEntry(context: ApiContext, resource: ServedResource, entry: Entry): Promise<void> {
  if (isTerminating(entry.object())) return;
  const { namespace, name } = entry.key;
  try {
    await deleteObject(context, resource, { namespace, name }, { preconditions: { uid: entry.uid } });
  } catch (thrown) {
    // Gone or replaced meanwhile: what is there now is looked at again.
    if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
  }
}

function remaining({ store }: ApiContext, resource: ServedResource, namespace: string | undefined): Remaining {
  const collection = collectionOf(resource);
  const objects = store.count(collection, namespace);
  if (objects === 0) return { objects, finalizers: [] };
  const { entries } = store.page(collection, { limit: chunk, ...(namespace === undefined ? {} : { namespace }) });
  return { objects, finalizers: [...new Set(entries.flatMap((entry) => finalizersOf(entry.object())))] };
}
