import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { invalid, invalidValue, type StatusCause } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { type PatchType, patcherOf } from "../patch/apply-patch.ts";
import { admitPatched } from "./admission.ts";
import { applyObject } from "./apply.ts";
import type { Answer } from "./answer.ts";
import { changeObject, type Endpoint } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { metadataOf, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";

/** PATCH of the newest state: it conflicts only when it names a resourceVersion or uid. */
export async function patchObject(
  context: ApiContext,
  resource: ServedResource,
  target: { readonly namespace: string; readonly name: string; readonly endpoint: Endpoint },
  patch: { readonly type: PatchType | "apply"; readonly body: JsonValue },
  request: WriteRequest,
): Promise<Answer> {
  if (patch.type === "apply") return applyObject(context, resource, target, patch.body, request);
  const patched = patcherOf(resource, patch.type, patch.body, target.name, context.limits.maxPatchOperations);
  return changeObject(context, {
    ...target,
    resource,
    request,
    replaces: false,
    compute: (old, known) => {
      const object = withMetadataObject(patched(old));
      const changed = identityChanges(object, old);
      if (changed.length > 0) throw invalid(resource.type, target.name, changed);
      return admitPatched(object, resource, target.name, request, known);
    },
  });
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
