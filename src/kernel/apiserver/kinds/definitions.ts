import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Schema } from "#lib/schema/index.ts";
import { k8sOpenApiText } from "./data/k8s-openapi.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const core = "io.k8s.api.core.v1";
const extensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/** Names of the definitions that code refers to. */
export const definitionNames = {
  objectMeta: `${meta}.ObjectMeta`,
  listMeta: `${meta}.ListMeta`,
  deleteOptions: `${meta}.DeleteOptions`,
  status: `${meta}.Status`,
  namespace: `${core}.Namespace`,
  configMap: `${core}.ConfigMap`,
  secret: `${core}.Secret`,
  serviceAccount: `${core}.ServiceAccount`,
  coreEvent: `${core}.Event`,
  event: "io.k8s.api.events.v1.Event",
  pod: `${core}.Pod`,
  job: "io.k8s.api.batch.v1.Job",
  lease: "io.k8s.api.coordination.v1.Lease",
  customResourceDefinition: `${extensions}.CustomResourceDefinition`,
} as const;

let parsed: JsonObject | undefined;

/** The definitions of built-in types as the data has them, parsed at the first call. */
export function rawDefinitions(): JsonObject {
  parsed ??= JSON.parse(k8sOpenApiText) as JsonObject;
  return parsed;
}

const refPrefix = "#/components/schemas/";
const anything: Schema = { "x-kubernetes-preserve-unknown-fields": true };

/** Types the data describes by what they look like in JSON, which is not enough to check them. */
const byHand: ReadonlyMap<string, Schema> = new Map([
  ["io.k8s.apimachinery.pkg.util.intstr.IntOrString", { "x-kubernetes-int-or-string": true }],
  ["io.k8s.apimachinery.pkg.api.resource.Quantity", { ...anything, anyOf: [{ type: "string" }, { type: "number" }] }],
  [`${extensions}.JSON`, anything],
  [`${extensions}.JSONSchemaPropsOrStringArray`, anything],
]);
/** A schema or something simpler: pruned like a schema, of any type. */
const schemaOrSimpler = new Set([`${extensions}.JSONSchemaPropsOrBool`, `${extensions}.JSONSchemaPropsOrArray`]);

const structural = new Map<string, Schema>();

/**
 * A definition of a built-in type as a structural schema: for pruning, zero values and types. References to other definitions stay.
 * List types are left out: Kubernetes itself does not demand unique keys in the lists of its built-in kinds.
 */
export function definition(name: string): Schema | undefined {
  const known = structural.get(name);
  if (known !== undefined) return known;
  const made = byHand.get(name) ?? (schemaOrSimpler.has(name) ? membersOfSchemas() : readDefinition(name));
  if (made !== undefined) structural.set(name, made);
  return made;
}

function readDefinition(name: string): Schema | undefined {
  const raw = rawDefinitions();
  const found = Object.hasOwn(raw, name) ? raw[name] : undefined;
  return isJsonObject(found) ? toStructural(found) : undefined;
}

const membersOfSchemas = (): Schema => ({ properties: definition(`${extensions}.JSONSchemaProps`)?.properties ?? {} });

/** The name a `$ref` of the data leads to. */
export const definitionOfRef = (ref: string): string => ref.slice(refPrefix.length);
/** The `$ref` to a definition inside an OpenAPI document. */
export const refTo = (name: string): string => `${refPrefix}${name}`;

/** `{allOf: [{$ref}]}` is how the data writes a reference that has keywords of its own. */
export function refOf(raw: JsonObject): string | undefined {
  if (typeof raw["$ref"] === "string") return definitionOfRef(raw["$ref"]);
  const [only] = Array.isArray(raw["allOf"]) ? (raw["allOf"] as readonly JsonValue[]) : [];
  return isJsonObject(only) && typeof only["$ref"] === "string" ? definitionOfRef(only["$ref"]) : undefined;
}

function toStructural(raw: JsonObject): Schema {
  const ref = refOf(raw);
  if (ref !== undefined) return { $ref: ref };
  const { type, format, properties, additionalProperties, items, required } = raw;
  const isFree = type === "object" && properties === undefined && additionalProperties === undefined;
  if (isFree || type === undefined) return anything;
  return {
    type: type as Exclude<Schema["type"], undefined>,
    ...(typeof format === "string" ? { format } : {}),
    ...(isJsonObject(properties) ? { properties: toProperties(properties, namesOf(required)) } : {}),
    ...(isJsonObject(additionalProperties) ? { additionalProperties: toStructural(additionalProperties) } : {}),
    ...(isJsonObject(items) ? { items: toStructural(items) } : {}),
    ...(required === undefined ? {} : { required: namesOf(required) }),
  };
}

const namesOf = (value: JsonValue | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((name: JsonValue) => typeof name === "string") : [];

/** Zero values are kept only where a field is required: there Kubernetes fills them in, elsewhere it leaves the field out. */
const toProperties = (properties: JsonObject, required: readonly string[]): Readonly<Record<string, Schema>> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, raw]) => {
      const member = isJsonObject(raw) ? raw : {};
      const zero = required.includes(name) ? member["default"] : undefined;
      return [name, { ...toStructural(member), ...(zero === undefined ? {} : { default: zero }) }];
    }),
  );
