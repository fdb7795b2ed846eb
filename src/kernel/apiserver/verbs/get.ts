import { notFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { parseRevision, waitForRevision } from "./revision.ts";
import { keyFor } from "./storage-view.ts";

/**
 * GET of one object; 404 when it is not there. A `resourceVersion` means "not older than": the answer waits a little for a revision of the
 * future, then is 504; 400 for a text that is no revision. Constant time, and no copy.
 */
export async function getObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string },
  resourceVersion = "",
): Promise<Answer> {
  if (resourceVersion !== "") await waitForRevision(context, parseRevision(resourceVersion));
  // The published state: what is still on its way to the disk is not shown (S2).
  const entry = context.store.get(keyFor(resource, target.namespace, target.name));
  if (entry === undefined) throw notFound(resource.type, target.name);
  return { resource, entry, warnings: resource.warnings };
}
