import type { ServedResource } from "../kinds/served-resource.ts";
import type { Answer } from "./answer.ts";
import type { ApiContext } from "./context.ts";
import { notFound } from "./refusals.ts";
import { parseRevision, waitForRevision } from "./revision.ts";
import { keyFor } from "./storage-view.ts";

/** GET of one object. A `resourceVersion` means "not older than". */
export async function getObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string },
  resourceVersion = "",
): Promise<Answer> {
  if (resourceVersion !== "") await waitForRevision(context, parseRevision(resourceVersion));
  const entry = context.store.get(keyFor(resource, target.namespace, target.name));
  if (entry === undefined) throw notFound(resource.type, target.name);
  return { resource, entry, warnings: resource.warnings };
}
