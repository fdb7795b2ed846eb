import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { refTo } from "#kernel/specs/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { componentsOf } from "./components.ts";
import { documentInfo } from "./v3.ts";

/** Clients ask for it as `…v2@v1.0+protobuf`. */
export const swaggerProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** Swagger 2.0: definitions of every kind, without paths, for kubectl up to 1.28. */
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

/** Keeps unknown fields: as in Kubernetes no properties are listed, since old clients would refuse others. */
const openObject = (schema: JsonObject): JsonObject => ({
  type: "object",
  ...(schema[kindMark] === undefined ? {} : { [kindMark]: schema[kindMark] }),
});

const newer = new Set(["oneOf", "anyOf", "not", "nullable"]);
const refPrefix = refTo("");

/** References lead to `#/definitions`, newer keywords are left out. The server validates anyway. */
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

/** Names of members are no keywords. */
const mapValues = (properties: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, isJsonObject(schema) ? downgrade(schema) : {}]),
  );

const swaggerRef = (ref: JsonValue | undefined): string =>
  typeof ref === "string" ? ref.replace(refPrefix, "#/definitions/") : "";
