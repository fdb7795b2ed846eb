import { isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiContext } from "./context.ts";
import { type Deletion, deleteHead } from "./delete.ts";
import { listObjects } from "./list.ts";
import type { DeleteRequest, ListRequest } from "./options.ts";
import { checkPolicy } from "./propagation.ts";

// Objects deleted in one critical section; between two sections other writes have their turn.
const batchSize = 200;

/**
 * DELETE of a collection: every selected object by the rules of a single DELETE, in the order of a list. `limit` and `continue` do not apply.
 * Not one transaction: when one object is refused, those of the batches before are gone. Answers with what each deletion did; objects that
 * were gone before their turn are left out.
 */
export async function deleteCollection(
  context: ApiContext,
  resource: ServedResource,
  list: Pick<ListRequest, "namespace" | "labelSelector" | "fieldSelector">,
  request: DeleteRequest,
): Promise<readonly Deletion[]> {
  checkPolicy(request);
  // Objects created after this list are not deleted, as in Kubernetes.
  const { entries } = await listObjects(context, resource, list);
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
  return deletions;
}
