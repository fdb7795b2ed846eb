import { isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiContext } from "./context.ts";
import { type Deletion, deleteHead } from "./delete.ts";
import { listObjects } from "./list.ts";
import type { DeleteRequest, ListRequest } from "./options.ts";
import { checkPolicy } from "./propagation.ts";

// Deleted in one critical section; other writes run in between.
const batchSize = 200;

/** `continue` is set when a limit left objects for the next request. */
export interface CollectionDeletion {
  readonly deletions: readonly Deletion[];
  readonly continue?: string;
}

/**
 * In list order, up to `limit`. No transaction: a refusal, also of `review`, does not undo earlier batches. Skips
 * missing objects.
 */
export async function deleteCollection(
  context: ApiContext,
  resource: ServedResource,
  list: ListRequest,
  request: DeleteRequest,
  review?: (target: { readonly namespace: string; readonly name: string }) => Promise<void>,
): Promise<CollectionDeletion> {
  checkPolicy(request);
  // Objects created after this list stay, as in Kubernetes.
  const { entries, continue: token } = await listObjects(context, resource, list);
  const deletions: Deletion[] = [];
  for (let start = 0; start < entries.length; start += batchSize) {
    const batch = entries.slice(start, start + batchSize);
    if (review !== undefined) for (const { key } of batch) await review(key);
    const done = await context.store.write((transaction) =>
      batch.map(({ key, uid }) => {
        // Not a successor of the same name.
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
