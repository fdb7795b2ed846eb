import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { accessDescriptions } from "./descriptions-access.ts";
import { appsDescriptions } from "./descriptions-apps.ts";
import { clusterDescriptions } from "./descriptions-cluster.ts";
import { coreDescriptions } from "./descriptions-core.ts";
import { otherDescriptions } from "./descriptions-other.ts";

// `kubectl explain` prints what OpenAPI documents say. The data of the built-in kinds has no prose, so these are our own texts, one line
// each, for the types and fields that people ask about. A field without a text is shown by name and type alone.

/** Help for one type: `""` is the type itself, other keys are its fields. */
export type TypeDescriptions = Readonly<Record<string, string>>;

const byName: ReadonlyMap<string, TypeDescriptions> = new Map([
  ...Object.entries(coreDescriptions),
  ...Object.entries(appsDescriptions),
  ...Object.entries(clusterDescriptions),
  ...Object.entries(otherDescriptions),
  ...Object.entries(accessDescriptions),
]);

/** Members that every object and list has. */
const everywhere: TypeDescriptions = {
  apiVersion: "Group and version of the API this object is written for.",
  kind: "The kind of object this is.",
};

/**
 * The definition `name` of the data with our texts as descriptions: of the type, and of its fields. A type is found by its last two
 * words (`io.k8s.api.core.v1.Pod` -> `v1.Pod`), which only the two forms of Event share. A copy; `raw` stays as it is.
 */
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
