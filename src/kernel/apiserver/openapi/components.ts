import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { schemaAsJson } from "#lib/schema/index.ts";
import { definitionNames, definitionOfRef, rawDefinitions, refTo } from "#kernel/specs/index.ts";
import { describeDefinition } from "../kinds/descriptions.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

// `components.schemas`: the transitive closure of references from the served kinds.

/** Schemas by full name, such as `io.k8s.api.core.v1.Pod`, in document order. */
export type Components = ReadonlyMap<string, JsonObject>;

/** The schemas of kinds, of their lists and of everything they refer to, always with `Status` and `DeleteOptions`. */
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

/** Set before following references: types may be recursive. */
function add(found: Map<string, JsonObject>, name: string, schema: JsonObject): void {
  found.set(name, schema);
  for (const ref of refsIn(schema)) addDefinition(found, definitionOfRef(ref));
}

/** Unknown names are left out; a test finds them. */
function addDefinition(found: Map<string, JsonObject>, name: string): void {
  const raw = rawDefinitions()[name];
  if (!found.has(name) && isJsonObject(raw)) add(found, name, describeDefinition(name, raw));
}

function* refsIn(value: JsonValue | undefined): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (isJsonObject(value) && typeof value["$ref"] === "string") yield value["$ref"];
  for (const child of Object.values(value)) yield* refsIn(child);
}

/** Clients find a kind's schema by this mark. */
const kindOf = ({ type }: ServedResource, kind: string): JsonObject => ({
  "x-kubernetes-group-version-kind": [{ group: type.group, kind, version: type.version }],
});

/** A custom kind's schema; `metadata` refers to ObjectMeta, as kubectl's validation expects. */
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

/** Always named `<kind>List`, whatever the list kind is called. */
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
