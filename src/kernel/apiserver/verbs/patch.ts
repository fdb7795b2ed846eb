import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { invalid, invalidValue, type StatusCause } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { patchedAhead, type PatchType, patcherOf } from "../patch/apply-patch.ts";
import { admitPatched } from "./admission.ts";
import { applyObject } from "./apply.ts";
import type { Answer } from "./answer.ts";
import { changeObject, type Endpoint } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { metadataOf, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";
import { keyFor, viewOf } from "./storage-view.ts";

/** PATCH of the newest state: it conflicts only when it names a resourceVersion or uid. */
export async function patchObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string; readonly endpoint: Endpoint },
  patch: { readonly type: PatchType | "apply"; readonly body: JsonValue },
  request: WriteRequest,
): Promise<Answer> {
  if (patch.type === "apply") return applyObject(context, resource, target, patch.body, request);
  const isLong = patch.type === "json" && Array.isArray(patch.body) && patch.body.length > fewOperations;
  const patched = await patcherFor(context, resource, target, patch.type, patch.body, isLong);
  return changeObject(context, {
    ...target,
    resource,
    request,
    replaces: false,
    isLong,
    compute: (old, known) => {
      const object = withMetadataObject(patched(old));
      const changed = identityChanges(object, old);
      if (changed.length > 0) throw invalid(resource.type, target.name, changed);
      return admitPatched(object, resource, target.name, request, known);
    },
  });
}

/** Fewer operations take no time worth counting. */
const fewOperations = 1000;

/** Others have their turn while a long JSON patch is applied to the newest state, seldom another when it is written. */
async function patcherFor(
  { store, turns, limits: { maxPatchOperations } }: ApiContext,
  resource: ServedResource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  type: PatchType,
  body: JsonValue,
  isLong: boolean,
): Promise<(object: JsonObject) => JsonObject> {
  const patcher = patcherOf(resource, type, body, name, maxPatchOperations);
  const entry = store.get(keyFor(resource, namespace, name));
  if (!isLong || entry === undefined) return patcher;
  const object = viewOf(resource, entry);
  await turns.piece();
  return patchedAhead(patcher, object, body, maxPatchOperations, () => turns.piece());
}

/** A patch may remove metadata; the server's part comes back from the stored object. */
const withMetadataObject = (object: JsonObject): JsonObject =>
  object["metadata"] === undefined || object["metadata"] === null ? withMetadata(object, {}) : object;

function identityChanges(object: JsonObject, old: JsonObject): readonly StatusCause[] {
  if (!isJsonObject(object["metadata"])) return [invalidValue("metadata", object["metadata"], "must be an object")];
  const causes = ["apiVersion", "kind"]
    .filter((member) => object[member] !== old[member])
    .map((member) => invalidValue(member, object[member], "field is immutable"));
  const moved = ["name", "namespace"]
    .filter((member) => metadataOf(object)[member] !== metadataOf(old)[member])
    .map((member) => invalidValue(`metadata.${member}`, metadataOf(object)[member], "field is immutable"));
  return [...causes, ...moved];
}
