import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { compileSchema, type Schema } from "#lib/schema/index.ts";
import { ApiError, apiVersionOf, badRequest, invalid, invalidValue, type StatusCause } from "#kernel/model/index.ts";
import { definition, definitionNames } from "#kernel/specs/index.ts";
import { customTypeNode } from "../apply/type-node.ts";
import { unreadableBy } from "../kinds/built-in.ts";
import type { MergeSchema, ScalePaths, ServedResource } from "../kinds/served-resource.ts";
import { patcherOf, type PatchType } from "../patch/apply-patch.ts";
import {
  admit,
  type Admitted,
  admitPatched,
  namedKind,
  expectName,
  inNamespace,
  refuseUnreadable,
} from "./admission.ts";
import { answerObject } from "./answer.ts";
import { applied, readDocument } from "./apply.ts";
import { changeObject } from "./change.ts";
import type { ApiContext } from "./context.ts";
import { getObject } from "./get.ts";
import { metadataOf, withMetadata } from "./metadata.ts";
import type { WriteRequest } from "./options.ts";

// A view, so that autoscalers and `kubectl scale` need not know the kinds. Writes one number.

export const scaleType = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  plural: "scales",
  namespaced: true,
} as const;

interface Target {
  readonly namespace: string;
  readonly name: string;
}

/** The Scale of an object; 404 when missing. Uid and revision are the object's. */
export async function getScale(context: ApiContext, resource: ServedResource, target: Target): Promise<JsonObject> {
  return scaleOf(resource, answerObject(await getObject(context, resource, target)));
}

export interface ScaleAnswer {
  readonly scale: JsonObject;
  readonly warnings: readonly string[];
}

/** PUT: 422 unless `spec.replicas` is a count. A `resourceVersion` is a precondition. */
export function updateScale(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  body: unknown,
  request: WriteRequest,
): Promise<ScaleAnswer> {
  const served = scaleResource(resource);
  const sent = expectName(inNamespace(namedKind(body, served), served, target.namespace), target.name);
  return change(context, resource, target, request, () => readable(admit(sent, served, request), served));
}

/** PATCH of the view. An apply makes its manager the owner of the number in the object. */
export function patchScale(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  patch: { readonly type: PatchType | "apply"; readonly body: JsonValue },
  request: WriteRequest,
): Promise<ScaleAnswer> {
  if (patch.type === "apply") return applyScale(context, resource, target, patch.body, request);
  const { maxPatchOperations } = context.limits;
  const served = scaleResource(resource);
  const patched = patcherOf(served, patch.type, patch.body, target.name, maxPatchOperations);
  return change(context, resource, target, request, (scale) =>
    admitPatched(patched(scale), served, target.name, request),
  );
}

/** Owners and conflicts are the object's. A number that nobody declares any more becomes 0, as in Kubernetes. */
async function applyScale(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  body: JsonValue,
  request: WriteRequest,
): Promise<ScaleAnswer> {
  const { specReplicasPath: path } = pathsOf(resource);
  const served = scaleResource(resource);
  const { object: scale, warnings } = readable(readDocument(served, target, body, request, scaleNode), served);
  const declares = isJsonObject(scale["spec"]) && scale["spec"]["replicas"] !== undefined;
  const { replicas, causes } = replicasOf(scale);
  if (causes.length > 0) throw invalid(scaleType, target.name, causes);
  const answer = await changeObject(context, {
    ...target,
    resource,
    request,
    endpoint: "scale",
    replaces: false,
    compute(old) {
      const { apiVersion = "", kind = "" } = old;
      const { name = "", namespace } = metadataOf(old);
      const names = { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
      const document = declares ? withNumber(names, path, replicas) : names;
      const declaration = { object: document, sent: document };
      const { object, managers } = applied(context, resource, "scale", old, declaration, request);
      const sized = isNumberAt(object, path) || !isNumberAt(old, path) ? object : withNumber(object, path, 0);
      return { object: claiming(sized, scale), warnings, managers };
    },
  });
  return { scale: scaleOf(resource, answerObject(answer)), warnings };
}

/** It has no lists. */
const mapsOnly: MergeSchema = { field: () => undefined, items: undefined, mergeKey: undefined, strategies: [] };

const count: Schema = { type: "integer", format: "int32" };
const scaleSchema: Schema = {
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { $ref: definitionNames.objectMeta },
    spec: { type: "object", properties: { replicas: count } },
    status: { type: "object", properties: { replicas: count, selector: { type: "string" } } },
  },
};
const scaleFields = compileSchema(scaleSchema, { resolve: definition });
const scaleNode = customTypeNode({ type: "object", properties: { spec: { type: "object" } } });

const scaleResource = (resource: ServedResource): ServedResource => ({
  ...resource,
  custom: false,
  type: { ...scaleType, namespaced: resource.type.namespaced },
  mergeSchema: mapsOnly,
  prune(object) {
    const { value, unknown } = scaleFields.prune(object);
    return { object: isJsonObject(value) ? value : object, unknown };
  },
  unreadable: (object) => unreadableBy(scaleFields, object),
});

function readable(admitted: Admitted, served: ServedResource): Admitted {
  refuseUnreadable(admitted.object, served);
  return admitted;
}

/** Writes one number at the head; the object's own rules judge the result. */
async function change(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  request: WriteRequest,
  edit: (scale: JsonObject) => Admitted,
): Promise<ScaleAnswer> {
  let warnings: readonly string[] = [];
  const answer = await changeObject(context, {
    ...target,
    resource,
    request,
    endpoint: "scale",
    replaces: false,
    compute(old) {
      const { object: scale, ...admitted } = edit(scaleOf(resource, old));
      ({ warnings } = admitted);
      const { replicas, causes } = replicasOf(scale);
      if (causes.length > 0) throw invalid(scaleType, target.name, causes);
      return { object: claiming(withNumber(old, pathsOf(resource).specReplicasPath, replicas), scale), warnings };
    },
  });
  return { scale: scaleOf(resource, answerObject(answer)), warnings };
}

/** With the revision and uid that the writer has read, as preconditions. */
function claiming(object: JsonObject, scale: JsonObject): JsonObject {
  const { resourceVersion, uid } = metadataOf(scale);
  return resourceVersion === undefined && uid === undefined ? object : withMetadata(object, { resourceVersion, uid });
}

/** An object without replicas has 0, as in Kubernetes. */
function replicasOf(scale: JsonObject): { readonly replicas: number; readonly causes: readonly StatusCause[] } {
  const { spec } = scale;
  const value = isJsonObject(spec) ? (spec["replicas"] ?? 0) : 0;
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
  const cause = invalidValue("spec.replicas", value, "must be an integer greater than or equal to 0");
  return isCount ? { replicas: value, causes: [] } : { replicas: 0, causes: [cause] };
}

/** `selector` is a text (`a=b,c in (d)`), which autoscalers use in queries. */
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

/** Only for kinds with the subresource. */
function pathsOf({ scale, type }: ServedResource): ScalePaths {
  if (scale === undefined) throw new ApiError("NotFound", `${type.plural} cannot be scaled`);
  return scale;
}

/** CRD paths consist of names and dots only. */
const namesIn = (path: string): readonly string[] => path.split(".").filter((name) => name !== "");

function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of namesIn(path)) value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

const isNumberAt = (object: JsonObject, path: string): boolean => typeof valueAt(object, path) === "number";

/** 0 when absent or not a number. */
function numberAt(object: JsonObject, path: string): number {
  const value = valueAt(object, path);
  return typeof value === "number" ? value : 0;
}

/** Missing objects on the path are created; 400 when it leads through a list or a text. */
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
