import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { ApiError, apiVersionOf, badRequest, invalid, invalidValue, type StatusCause } from "#kernel/model/index.ts";
import type { MergeSchema, ScalePaths, ServedResource } from "../kinds/served-resource.ts";
import { patcherOf, type PatchType } from "../patch/apply-patch.ts";
import { expectKind, expectName, inNamespace } from "./admission.ts";
import { answerObject } from "./answer.ts";
import { changeObject } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { getObject } from "./get.ts";
import { metadataOf, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";

// `autoscaling/v1 Scale` is a view: three numbers and a selector of an object of another kind, so that autoscalers and `kubectl
// scale` need to know none of those kinds. Nothing is stored under it; a write to it is a write of one number to the object.

/** What clients call the kind, whatever it is a view of. */
export const scaleType = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  plural: "scales",
  namespaced: true,
} as const;

/** The object that is scaled. */
interface Target {
  readonly namespace: string;
  readonly name: string;
}

/** The Scale of an object as stored; 404 when the object is not there. Its uid and revision are those of the object. */
export async function getScale(context: ApiContext, resource: ServedResource, target: Target): Promise<JsonObject> {
  return scaleOf(resource, answerObject(await getObject(context, resource, target)));
}

/** PUT: 422 unless `spec.replicas` is a count. A `resourceVersion` in the body is a precondition, as everywhere. */
export function updateScale(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  body: unknown,
  request: WriteRequest,
): Promise<JsonObject> {
  const served = scaleResource(resource);
  const sent = expectName(inNamespace(expectKind(body, served), served, target.namespace), target.name);
  return change(context, resource, target, request, () => sent);
}

/** PATCH of the view; all kinds of patches but apply, which would own a number of an object it does not declare. */
export function patchScale(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  patch: { readonly type: PatchType; readonly body: JsonValue },
  request: WriteRequest,
): Promise<JsonObject> {
  const { maxPatchOperations } = context.limits;
  const patched = patcherOf(scaleResource(resource), patch.type, patch.body, target.name, maxPatchOperations);
  return change(context, resource, target, request, patched);
}

/** There are no lists in it. */
const mapsOnly: MergeSchema = { field: () => undefined, items: undefined, mergeKey: undefined, strategies: [] };

/** The kind as the readers of bodies and patches see it. */
const scaleResource = (resource: ServedResource): ServedResource => ({
  ...resource,
  type: { ...scaleType, namespaced: resource.type.namespaced },
  mergeSchema: mapsOnly,
});

/** One write of one number, at the head. Everything else about the object stays, and its own rules judge the result. */
async function change(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  request: WriteRequest,
  edit: (scale: JsonObject) => JsonObject,
): Promise<JsonObject> {
  const answer = await changeObject(context, {
    ...target,
    resource,
    request,
    endpoint: "main",
    replaces: false,
    compute(old) {
      const scale = edit(scaleOf(resource, old));
      const { replicas, causes } = replicasOf(scale);
      if (causes.length > 0) throw invalid(scaleType, target.name, causes);
      const { resourceVersion, uid } = metadataOf(scale);
      const sized = withNumber(old, pathsOf(resource).specReplicasPath, replicas);
      // What the writer has read, so that the usual preconditions are asked.
      const claimed = resourceVersion === undefined && uid === undefined ? {} : { resourceVersion, uid };
      return { object: withMetadata(sized, { ...claimed }), warnings: [] };
    },
  });
  return scaleOf(resource, answerObject(answer));
}

/** Of an object that says nothing of replicas the count is 0, as it is for Kubernetes. */
function replicasOf(scale: JsonObject): { readonly replicas: number; readonly causes: readonly StatusCause[] } {
  const { spec } = scale;
  const value = isJsonObject(spec) ? (spec["replicas"] ?? 0) : 0;
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
  const cause = invalidValue("spec.replicas", value, "must be an integer greater than or equal to 0");
  return isCount ? { replicas: value, causes: [] } : { replicas: 0, causes: [cause] };
}

/** `selector` is a text here, `a=b,c in (d)`, because autoscalers pass it on as a query. */
function scaleOf(resource: ServedResource, object: JsonObject): JsonObject {
  const paths = pathsOf(resource);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadataOf(object);
  const labels = paths.selector(object);
  return {
    apiVersion: apiVersionOf(scaleType),
    kind: scaleType.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, paths.specReplicasPath) },
    status: { replicas: numberAt(object, paths.statusReplicasPath), ...(labels === "" ? {} : { selector: labels }) },
  };
}

/** Asked only of kinds with the subresource. */
function pathsOf({ scale, type }: ServedResource): ScalePaths {
  if (scale === undefined) throw new ApiError("NotFound", `${type.plural} cannot be scaled`);
  return scale;
}

/** `.spec.replicas` -> `spec`, `replicas`: the rules for CRDs allow nothing but names between the dots. */
const namesIn = (path: string): readonly string[] => path.split(".").filter((name) => name !== "");

/** 0 for what is absent or no number: a count that nobody has set yet. */
function numberAt(object: JsonObject, path: string): number {
  let value: JsonValue | undefined = object;
  for (const name of namesIn(path)) value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof value === "number" ? value : 0;
}

/** Objects on the way are made where they are missing; 400 when the path leads through a list or a text. */
function withNumber(object: JsonObject, path: string, number: number): JsonObject {
  const set = (value: JsonValue | undefined, [name, ...rest]: readonly string[]): JsonValue => {
    if (name === undefined) return number;
    if (value !== undefined && !isJsonObject(value))
      throw badRequest(`${path} leads through something that is no object`);
    return { ...value, [name]: set(value?.[name], rest) };
  };
  const changed = set(object, namesIn(path));
  return isJsonObject(changed) ? changed : object;
}
