import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { finalizersOf, withMetadata } from "../verbs/metadata.ts";
import { foregroundFinalizer, heldPropagation, orphanFinalizer } from "../verbs/propagation.ts";
import { servedFor } from "../verbs/storage-view.ts";
import { editEntry } from "./edit-entry.ts";
import { mayOwn, ownerLinks, withoutOwners } from "./owner-references.ts";

// Finishes foreground and orphan deletions, in which a finalizer keeps the object. Both steps are idempotent.

/** Dependants changed in one commit. */
const chunk = 500;

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

/** Owning itself, or from another scope, does not block. */
function isBlocked(context: ApiContext, entry: Entry): boolean {
  const { store, registry } = context;
  return store.dependants(entry.uid).some((dependant) => {
    if (dependant.uid === entry.uid || !mayOwn(entry, dependant)) return false;
    // Objects of a kind that is not served cannot be deleted.
    if (servedFor(registry(), dependant.key) === undefined) return false;
    return ownerLinks(dependant.object()).some(({ uid, blocks }) => blocks && uid === entry.uid);
  });
}

/** Dependants created meanwhile keep their reference and are collected, as in Kubernetes. */
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

const releaseFrom = (context: ApiContext, resource: ServedResource, entry: Entry, finalizer: string): Promise<void> =>
  editEntry(context, resource, entry, (object: JsonObject) => {
    const kept = finalizersOf(object).filter((name) => name !== finalizer);
    return withMetadata(object, { finalizers: kept.length === 0 ? undefined : kept });
  });
