import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { finalizersOf, withMetadata } from "../verbs/metadata.ts";
import { foregroundFinalizer, heldPropagation, orphanFinalizer } from "../verbs/propagation.ts";
import { servedFor } from "../verbs/storage-view.ts";
import { editEntry } from "./edit-entry.ts";
import { mayOwn, ownerLinks, withoutOwners } from "./owner-references.ts";

// The second half of a foreground or orphan deletion: the object is terminating, and a finalizer of the server's keeps it until its
// dependants are dealt with. Both steps are idempotent and run again whenever something may have changed.

/** Dependants changed at once: one group commit, and others have their turn after it. */
const chunk = 500;

/** Takes a terminating object one step further. One that waits for nobody we know of is left alone. */
export async function finishDeletion(context: ApiContext, resource: ServedResource, entry: Entry): Promise<void> {
  switch (heldPropagation(entry.object())) {
    case "Foreground":
      if (!isBlocked(context, entry)) await releaseFrom(context, resource, entry, foregroundFinalizer);
      return;
    case "Orphan":
      await orphanDependants(context, entry);
      await releaseFrom(context, resource, entry, orphanFinalizer);
      return;
    case undefined:
      return;
  }
}

/** True while a dependant is there that says so. An object that owns itself, or is owned from afar, waits for neither. */
function isBlocked(context: ApiContext, entry: Entry): boolean {
  const { store, registry } = context;
  return store.dependants(entry.uid).some((dependant) => {
    if (dependant.uid === entry.uid || !mayOwn(entry, dependant)) return false;
    // Nobody can delete an object whose kind is not served.
    if (servedFor(registry(), dependant.key) === undefined) return false;
    return ownerLinks(dependant.object()).some(({ uid, blocks }) => blocks && uid === entry.uid);
  });
}

/** Dependants forget the object. One that is made while this runs keeps its reference and is collected, as in Kubernetes. */
async function orphanDependants(context: ApiContext, { uid }: Entry): Promise<void> {
  const gone = new Set([uid]);
  const dependants = context.store.dependants(uid);
  for (let start = 0; start < dependants.length; start += chunk) {
    await Promise.all(
      dependants.slice(start, start + chunk).map(async (dependant) => {
        const resource = servedFor(context.registry(), dependant.key);
        if (resource === undefined) return;
        await editEntry(context, resource, dependant, (object) => withoutOwners(object, gone));
      }),
    );
  }
}

/** The last finalizer takes the object with it, in the same revision. */
const releaseFrom = (context: ApiContext, resource: ServedResource, entry: Entry, finalizer: string): Promise<void> =>
  editEntry(context, resource, entry, (object: JsonObject) => {
    const kept = finalizersOf(object).filter((name) => name !== finalizer);
    return withMetadata(object, { finalizers: kept.length === 0 ? undefined : kept });
  });
