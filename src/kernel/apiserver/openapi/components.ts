import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { schemaAsJson } from "#lib/schema/index.ts";
import { definitionNames, definitionOfRef, rawDefinitions, refTo } from "#kernel/specs/index.ts";
import { describeDefinition } from "../kinds/descriptions.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

// `components.schemas` of a document: a transitive closure over references, from the served kinds down. Only what a group needs is in its
// document, so that a client that wants to know one kind reads one group and not the whole API.

/** Schemas by their full name, such as `io.k8s.api.core.v1.Pod`; insertion order is the order of the document. */
export type Components = ReadonlyMap<string, JsonObject>;

/**
 * The schemas of some kinds, of their lists, and of everything they refer to. `Status` and `DeleteOptions` are always among them: every
 * group answers with the one and takes the other. Built-in definitions carry our own descriptions.
 */
export function componentsOf(resources: readonly ServedResource[]): Components {
  const found = new Map<string, JsonObject>();
  for (const resource of resources) {
    const { name } = resource.schema;
    if (resource.custom) add(found, name, customSchema(resource));
    else addDefinition(found, name);
    add(found, `${name}List`, listSchema(resource));
  }
  for (const name of [definitionNames.status, definitionNames.deleteOptions]) addDefinition(found, name);
  return found;
}

/** Adds a schema and the definitions it refers to. Set before its references are followed: types may contain themselves. */
function add(found: Map<string, JsonObject>, name: string, schema: JsonObject): void {
  found.set(name, schema);
  for (const ref of refsIn(schema)) addDefinition(found, definitionOfRef(ref));
}

/** A definition of the data, once. A name the data does not have is left out; a test finds such references. */
function addDefinition(found: Map<string, JsonObject>, name: string): void {
  const raw = rawDefinitions()[name];
  if (!found.has(name) && isJsonObject(raw)) add(found, name, describeDefinition(name, raw));
}

/** Every `$ref` in a schema, at any depth, in order. */
function* refsIn(value: JsonValue | undefined): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (isJsonObject(value) && typeof value["$ref"] === "string") yield value["$ref"];
  for (const child of Object.values(value)) yield* refsIn(child);
}

/** By this mark clients find the schema of a document's kind. */
const kindOf = ({ type }: ServedResource, kind: string): JsonObject => ({
  "x-kubernetes-group-version-kind": [{ group: type.group, kind, version: type.version }],
});

/**
 * The schema of a custom kind, with the envelope of every object, which definitions leave out or may only restrict: `metadata` is a
 * reference to ObjectMeta, as kubectl's validation expects.
 */
function customSchema(resource: ServedResource): JsonObject {
  const root = schemaAsJson(resource.schema.root);
  const properties = isJsonObject(root["properties"]) ? root["properties"] : {};
  return {
    ...root,
    properties: {
      ...properties,
      apiVersion: { type: "string", description: "Group and version of the API this object is written for." },
      kind: { type: "string", description: "The kind of object this is." },
      metadata: {
        allOf: [{ $ref: refTo(definitionNames.objectMeta) }],
        description: "What every object has: name, labels, owners.",
      },
    },
    ...kindOf(resource, resource.type.kind),
  };
}

/** Lists have no definition in the data; they are all alike, and named `<kind>List` whatever the list kind is called. */
const listSchema = (resource: ServedResource): JsonObject => ({
  type: "object",
  description: `Several objects of kind ${resource.type.kind}.`,
  required: ["items"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { allOf: [{ $ref: refTo(definitionNames.listMeta) }] },
    items: { type: "array", items: { $ref: refTo(resource.schema.name) } },
  },
  ...kindOf(resource, resource.listKind),
});
