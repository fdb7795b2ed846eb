import type { ServedResource } from "../kinds/served-resource.ts";
import { admit, expectKind, expectName, inNamespace } from "./admission.ts";
import type { Answer } from "./answer.ts";
import { changeObject, type Endpoint } from "./change.ts";
import type { ApiContext } from "./context.ts";
import type { WriteRequest } from "./options.ts";
import { keyFor, viewOf } from "./storage-view.ts";

/** PUT. The object must exist; nothing is created. */
export async function updateObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string; readonly endpoint: Endpoint },
  body: unknown,
  request: WriteRequest,
): Promise<Answer> {
  const sent = expectName(inNamespace(expectKind(body, resource), resource, target.namespace), target.name);
  const entry = context.store.get(keyFor(resource, target.namespace, target.name));
  const old = entry === undefined ? undefined : viewOf(resource, entry);
  const admitted = admit(sent, resource, request, old);
  return changeObject(context, { ...target, resource, request, replaces: true, compute: () => admitted });
}
