import { isJsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { admit, namedKind, expectName, inNamespace } from "./admission.ts";
import type { Answer } from "./answer.ts";
import { changeObject, type Endpoint } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { frozenCopy } from "./frozen-copy.ts";
import type { WriteRequest } from "./options.ts";
import { keyFor, prunedBefore, viewOf } from "./storage-view.ts";

/**
 * PUT. The object must exist; nothing is created. `body` is copied, and what it has in common with the stored object is shared
 * with that one (`frozenCopy`). Refusals that need no store are thrown, all others are rejections.
 */
export function updateObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string; readonly endpoint: Endpoint },
  body: unknown,
  request: WriteRequest,
): Promise<Answer> {
  const entry = context.store.get(keyFor(resource, target.namespace, target.name));
  const old = entry === undefined ? undefined : viewOf(resource, entry);
  // What is no object at all is refused below, in words about kinds.
  const own = isJsonObject(body) ? frozenCopy(body, old) : body;
  const sent = expectName(inNamespace(namedKind(own, resource), resource, target.namespace), target.name);
  const known = entry === undefined ? undefined : prunedBefore(resource, entry);
  const admitted = admit(sent, resource, request, known);
  return changeObject(context, { ...target, resource, request, replaces: true, compute: () => admitted });
}
