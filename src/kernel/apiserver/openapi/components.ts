import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { schemaAsJson } from "#lib/schema/index.ts";
import { definitionNames, definitionOfRef, rawDefinitions, refTo } from "../kinds/definitions.ts";
import { describeDefinition } from "../kinds/descriptions.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

export type Components = ReadonlyMap<string, JsonObject>;

/** The schemas of some kinds and of everything they refer to, by name. */
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

/** Adds a schema and the definitions it refers to. */
function add(found: Map<string, JsonObject>, name: string, schema: JsonObject): void {
  found.set(name, schema);
  for (const ref of refsIn(schema)) addDefinition(found, definitionOfRef(ref));
}

function addDefinition(found: Map<string, JsonObject>, name: string): void {
  const raw = rawDefinitions()[name];
  if (!found.has(name) && isJsonObject(raw)) add(found, name, describeDefinition(name, raw));
}

function* refsIn(value: JsonValue | undefined): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (isJsonObject(value) && typeof value["$ref"] === "string") yield value["$ref"];
  for (const child of Object.values(value)) yield* refsIn(child);
}

const kindOf = ({ type }: ServedResource, kind: string): JsonObject => ({
  "x-kubernetes-group-version-kind": [{ group: type.group, kind, version: type.version }],
});

/** The schema of a definition, with the envelope of every object. */
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
