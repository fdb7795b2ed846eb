import { isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiContext } from "./context.ts";
import { type Deletion, deleteHead } from "./delete.ts";
import { listObjects } from "./list.ts";
import type { DeleteRequest, ListRequest } from "./options.ts";
import { checkPolicy } from "./propagation.ts";

// Objects deleted in one critical section; between two sections other writes have their turn.
const batchSize = 200;

/** What became of each selected object, and where to go on when a limit left some for the next request. */
export interface CollectionDeletion {
  readonly deletions: readonly Deletion[];
  readonly continue?: string;
}

/**
 * DELETE of a collection: every selected object by the rules of a single DELETE, in the order of a list. A `limit` counts as in a list: who
 * asks for one object to be deleted must not lose all. Not one transaction: when one object is refused, those of the batches before are
 * gone. Objects that were gone before their turn are left out of the answer.
 */
export async function deleteCollection(
  context: ApiContext,
  resource: ServedResource,
  list: ListRequest,
  request: DeleteRequest,
): Promise<CollectionDeletion> {
  checkPolicy(request);
  // Objects created after this list are not deleted, as in Kubernetes.
  const { entries, continue: token } = await listObjects(context, resource, list);
  const deletions: Deletion[] = [];
  for (let start = 0; start < entries.length; start += batchSize) {
    const batch = entries.slice(start, start + batchSize);
    const done = await context.store.write((transaction) =>
      batch.map(({ key, uid }) => {
        // The object listed, not another one that took its name in between.
        const preconditions = { ...request.preconditions, uid };
        try {
          return deleteHead(context, transaction, resource, key, { ...request, preconditions });
        } catch (thrown) {
          if (isNotFound(thrown)) return undefined;
          throw thrown;
        }
      }),
    );
    deletions.push(...done.filter((deletion) => deletion !== undefined));
  }
  return token === undefined ? { deletions } : { deletions, continue: token };
}
