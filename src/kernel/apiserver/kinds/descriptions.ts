import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import descriptions from "./data/descriptions.json" with { type: "json" };

// Our own texts for `kubectl explain`, since the definitions of the built-in kinds have none: `"<version>.<Type>": {"":
// <the type>, <field>: <text>}`, one line each with a full stop. They say what holds on this server. A test finds texts
// for unknown fields.

/** `""` is the type itself; other keys are its fields. */
type TypeDescriptions = Readonly<Record<string, string>>;

const byName: ReadonlyMap<string, TypeDescriptions> = new Map(Object.entries(descriptions));

/** Members that every object and list has. */
const everywhere: TypeDescriptions = {
  apiVersion: "Group and version of the API this object is written for.",
  kind: "The kind of object this is.",
};

/** Adds our texts. A type is found by its last two words, which only the two forms of Event share. */
export function describeDefinition(name: string, raw: JsonObject): JsonObject {
  const texts = byName.get(name.slice(name.lastIndexOf(".", name.lastIndexOf(".") - 1) + 1)) ?? {};
  const isObject = raw["x-kubernetes-group-version-kind"] !== undefined;
  const { properties } = raw;
  const own = texts[""] === undefined ? {} : { description: texts[""] };
  if (!isJsonObject(properties)) return { ...raw, ...own };
  const described = Object.entries(properties).map(([field, schema]) => {
    const text = textOf(field, texts, isObject);
    return [field, text === undefined || !isJsonObject(schema) ? schema : withDescription(schema, text)] as const;
  });
  return { ...raw, ...own, properties: Object.fromEntries(described) };
}

const textOf = (field: string, texts: TypeDescriptions, isObject: boolean): string | undefined =>
  (Object.hasOwn(texts, field) ? texts[field] : undefined) ??
  (isObject && Object.hasOwn(everywhere, field) ? everywhere[field] : undefined);

/** OpenAPI 3.0 ignores what stands beside a bare reference. */
const withDescription = (schema: JsonObject, description: string): JsonObject =>
  schema["$ref"] === undefined ? { ...schema, description } : { allOf: [schema], description };
