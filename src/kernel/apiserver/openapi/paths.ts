import type { JsonObject } from "#lib/base/index.ts";
import { collectionPath } from "#kernel/model/index.ts";
import { definitionNames, refTo } from "#kernel/specs/index.ts";
import { subresourceVerbs } from "../discovery/legacy.ts";
import { isPodStream } from "../http/route.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

// kubectl looks for PATCH operations with the kind and the parameters; the rest is for generators.

const query = (name: string, type: string, description: string): JsonObject => ({
  name,
  in: "query",
  description,
  schema: { type, uniqueItems: true },
});
const inPath = (name: string, description: string): JsonObject => ({
  name,
  in: "path",
  description,
  required: true,
  schema: { type: "string", uniqueItems: true },
});

const pretty = query("pretty", "string", "Any value: the answer is indented for people.");
const dryRun = query("dryRun", "string", "All: do everything but the write.");
const fieldManager = query("fieldManager", "string", "Name of the program that makes the change.");
const fieldValidation = query("fieldValidation", "string", "Ignore, Warn or Strict: what to do about unknown fields.");
const force = query("force", "boolean", "Take over fields that other managers own; only for apply.");
// `force` is for apply, hence PATCH only.
const writeParameters = [dryRun, fieldManager, fieldValidation];
const listParameters = [
  query("labelSelector", "string", "Only objects with these labels."),
  query("fieldSelector", "string", "Only objects whose fields have these values."),
  query("limit", "integer", "Most objects of one answer."),
  query("continue", "string", "Where the last answer ended."),
  query("resourceVersion", "string", "The revision the answer must not be older than."),
  query("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
  query("watch", "boolean", "Go on with changes, one line each."),
  query("allowWatchBookmarks", "boolean", "Send the current revision now and then."),
  query("sendInitialEvents", "boolean", "Begin a watch with the present objects."),
  query("timeoutSeconds", "integer", "End a watch after this time."),
];
const deleteParameters = [
  dryRun,
  query("gracePeriodSeconds", "integer", "Time to end politely."),
  query("propagationPolicy", "string", "What becomes of dependants: Background, Foreground or Orphan."),
];

/** The OpenAPI paths of a kind, with the placeholders `{name}` and `{namespace}`. */
export function pathsOf(resource: ServedResource): Readonly<Record<string, JsonObject>> {
  const { type, subresources } = resource;
  const scoped = type.namespaced
    ? collectionPath(type, "{namespace}").replace("%7Bnamespace%7D", "{namespace}")
    : collectionPath(type);
  const scope = type.namespaced ? [inPath("namespace", "Namespace of the objects.")] : [];
  const one = [inPath("name", `Name of the ${type.kind}.`), ...scope, pretty];
  const paths: Record<string, JsonObject> = {
    [scoped]: { ...operations(resource, collectionOperations), parameters: [...scope, pretty] },
    [`${scoped}/{name}`]: { ...operations(resource, objectOperations), parameters: one },
  };
  if (type.namespaced)
    paths[collectionPath(type)] = {
      ...operations(resource, { get: collectionOperations["get"] }),
      parameters: [pretty],
    };
  for (const name of subresources) {
    // Streams exchange no documents.
    if (isPodStream(name)) continue;
    const parts = subresourceOperations.filter(({ verb }) => subresourceVerbs[name].includes(verb));
    paths[`${scoped}/{name}/${name}`] = { ...operations(resource, byMethod(parts)), parameters: one };
  }
  return paths;
}

/** Common parts of an operation; by default it answers with the object and takes no body. */
interface OperationShape {
  readonly action: string;
  readonly parameters: readonly JsonObject[];
  readonly answers?: "list" | "status";
  readonly body?: "object" | "patch" | "options";
}

const put: OperationShape = { action: "put", parameters: writeParameters, body: "object" };
const patch: OperationShape = { action: "patch", parameters: [...writeParameters, force], body: "patch" };
const get: OperationShape = { action: "get", parameters: [] };

/** The deprecated `/watch/` paths are not served. */
const collectionOperations: Readonly<Record<string, OperationShape>> = {
  get: { action: "list", parameters: listParameters, answers: "list" },
  post: { action: "post", parameters: writeParameters, body: "object" },
  delete: {
    action: "deletecollection",
    parameters: [...listParameters, ...deleteParameters],
    answers: "status",
    body: "options",
  },
};
const objectOperations: Readonly<Record<string, OperationShape>> = {
  get,
  put,
  patch,
  delete: { action: "delete", parameters: deleteParameters, answers: "status", body: "options" },
};
const subresourceOperations = [
  { verb: "get", method: "get", shape: get },
  { verb: "update", method: "put", shape: put },
  { verb: "patch", method: "patch", shape: patch },
  { verb: "create", method: "post", shape: { action: "post", parameters: writeParameters, body: "object" } },
] as const satisfies readonly { readonly verb: string; readonly method: string; readonly shape: OperationShape }[];

const byMethod = (parts: readonly { readonly method: string; readonly shape: OperationShape }[]) =>
  Object.fromEntries(parts.map(({ method, shape }) => [method, shape]));

const operations = (
  resource: ServedResource,
  shapes: Readonly<Record<string, OperationShape | undefined>>,
): JsonObject =>
  Object.fromEntries(
    Object.entries(shapes).flatMap(([method, shape]) =>
      shape === undefined ? [] : [[method, operation(resource, shape)]],
    ),
  );

/** Only 200 is described: refusals are always Status objects. */
function operation(resource: ServedResource, shape: OperationShape): JsonObject {
  const { group, version, kind } = resource.type;
  const answer = { object: resource.schema.name, list: `${resource.schema.name}List`, status: definitionNames.status }[
    shape.answers ?? "object"
  ];
  return {
    "x-kubernetes-action": shape.action,
    "x-kubernetes-group-version-kind": { group, kind, version },
    parameters: shape.parameters,
    ...(shape.body === undefined ? {} : { requestBody: { content: bodyContent(resource, shape.body) } }),
    responses: { "200": { description: "OK", content: jsonOf(answer) } },
  };
}

const jsonOf = (name: string): JsonObject => ({ "application/json": { schema: { $ref: refTo(name) } } });

const patchTypes = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

/** Kinds without merge keys take no strategic patch. */
function bodyContent(resource: ServedResource, body: "object" | "patch" | "options"): JsonObject {
  if (body === "options") return jsonOf(definitionNames.deleteOptions);
  if (body === "object") return jsonOf(resource.schema.name);
  const types = resource.custom ? patchTypes : [...patchTypes, "application/strategic-merge-patch+json"];
  return Object.fromEntries(types.map((type) => [type, { schema: { type: "object" } }]));
}
