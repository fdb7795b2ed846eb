import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { refTo } from "#kernel/specs/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { componentsOf } from "./components.ts";
import { documentInfo } from "./v3.ts";

/** The Content-Type of the protobuf form. Clients ask for it as `…v2@v1.0+protobuf`, an older spelling. */
export const swaggerProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/**
 * The Swagger 2.0 document: definitions of every kind, without paths. kubectl up to 1.28 validates by it, and newer ones ask for it
 * once more when they apply a custom object that exists.
 */
export function swagger(resources: readonly ServedResource[]): JsonObject {
  const custom = new Set(resources.filter((resource) => resource.custom).map(({ schema }) => schema.name));
  const definitions = [...componentsOf(resources)].map(([name, schema]) => [
    name,
    custom.has(name) && schema[anyFields] === true ? openObject(schema) : downgrade(schema),
  ]);
  return { swagger: "2.0", info: documentInfo, paths: {}, definitions: Object.fromEntries(definitions) };
}

const anyFields = "x-kubernetes-preserve-unknown-fields";
const kindMark = "x-kubernetes-group-version-kind";

/** A custom kind that keeps unknown fields at its root: old clients would refuse them if any property were listed, as in Kubernetes. */
const openObject = (schema: JsonObject): JsonObject => ({
  type: "object",
  ...(schema[kindMark] === undefined ? {} : { [kindMark]: schema[kindMark] }),
});

/** Keywords that Swagger 2.0 does not have. */
const newer = new Set(["oneOf", "anyOf", "not", "nullable"]);
const refPrefix = refTo("");

/**
 * A schema in Swagger 2.0: references lead to `#/definitions`, and `allOf` around a single reference becomes that reference. Other
 * keywords of OpenAPI 3 are left out: a looser schema lets old clients pass what the server then judges.
 */
function downgrade(schema: JsonObject): JsonObject {
  const kept = Object.entries(schema).filter(([keyword]) => !newer.has(keyword));
  const [only] = Array.isArray(schema["allOf"]) ? (schema["allOf"] as readonly JsonValue[]) : [];
  const isReference = isJsonObject(only) && typeof only["$ref"] === "string";
  return Object.fromEntries(
    kept.flatMap(([keyword, value]): [string, JsonValue][] => {
      if (value === undefined) return [];
      if (keyword === "allOf") return isReference ? [["$ref", swaggerRef(only["$ref"])]] : [];
      if (keyword === "$ref") return [["$ref", swaggerRef(value)]];
      if (keyword === "properties" && isJsonObject(value)) return [[keyword, mapValues(value)]];
      const isSchema = keyword === "items" || keyword === "additionalProperties";
      return [[keyword, isSchema && isJsonObject(value) ? downgrade(value) : value]];
    }),
  );
}

/** Names of members are no keywords: a field may be called `nullable`. */
const mapValues = (properties: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, isJsonObject(schema) ? downgrade(schema) : {}]),
  );

/** `#/components/schemas/X` -> `#/definitions/X`. */
const swaggerRef = (ref: JsonValue | undefined): string =>
  typeof ref === "string" ? ref.replace(refPrefix, "#/definitions/") : "";
