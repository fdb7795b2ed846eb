import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { refTo } from "../kinds/definitions.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { componentsOf } from "./components.ts";
import { documentInfo } from "./v3.ts";

export const swaggerProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** The Swagger 2.0 document: definitions of every kind, without paths. */
export const swagger = (resources: readonly ServedResource[]): JsonObject => ({
  swagger: "2.0",
  info: documentInfo,
  paths: {},
  definitions: Object.fromEntries([...componentsOf(resources)].map(([name, schema]) => [name, downgrade(schema)])),
});

/** Keywords that Swagger 2.0 does not have. */
const newer = new Set(["oneOf", "anyOf", "not", "nullable"]);
const refPrefix = refTo("");

/** A schema in Swagger 2.0: references lead elsewhere, and a reference stands alone. */
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

const mapValues = (properties: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, isJsonObject(schema) ? downgrade(schema) : {}]),
  );

const swaggerRef = (ref: JsonValue | undefined): string =>
  typeof ref === "string" ? ref.replace(refPrefix, "#/definitions/") : "";
