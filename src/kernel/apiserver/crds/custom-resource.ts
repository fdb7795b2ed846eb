import type { ResourceType } from "#kernel/model/index.ts";
import { copyOf, definition, definitionNames, scalarText, withMembers } from "#kernel/specs/index.ts";
import { isJsonObject, jsonEquals, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { compileJsonPath, type JsonPath } from "#lib/json/index.ts";
import {
  type CompiledSchema,
  type CompileRule,
  compileSchema,
  type FieldError,
  readStructuralSchema,
  type Schema,
} from "#lib/schema/index.ts";
import { everyVerb, statusOnly, unreadableBy } from "../kinds/built-in.ts";
import type { ScalePaths, ServedResource, StorageView, Subresource } from "../kinds/served-resource.ts";
import { customTable } from "./custom-table.ts";
import type { Definition, DefinitionVersion } from "./definition.ts";

/** A kind that a CustomResourceDefinition declares, in one of its versions. */
export function customResource(crd: Definition, version: DefinitionVersion, compileRule?: CompileRule): ServedResource {
  const type = typeOf(crd, version);
  const table = customTable(version.columns);
  // Read and compiled when the first object arrives or somebody asks for it: most processes use few of the kinds they
  // serve.
  const root = lazily(() => rootSchema(version));
  const schema = lazily(() =>
    compileSchema(withMetadata(root()), { resolve: definition, ...(compileRule === undefined ? {} : { compileRule }) }),
  );
  const fields = new Map(version.selectableFields.map((path) => [path.replace(/^\./, ""), selectable(path)]));
  const scale = scaleOf(version);
  const storage = storageOf(crd, version, schema);
  const withDefaults = (object: JsonObject) => {
    const filled = schema().withDefaults(object);
    return isJsonObject(filled) ? filled : object;
  };
  const withoutStatus = (object: JsonObject) =>
    version.hasStatus && Object.hasOwn(object, "status") ? copyOf(object, "status") : object;
  return {
    type,
    isPreferred: version.name === crd.preferredVersion,
    listKind: (crd.acceptedNames ?? crd.names).listKind,
    custom: true,
    verbs: everyVerb,
    subresources: subresourcesOf(version),
    columns: table.columns,
    warnings: deprecationWarnings(type, version),
    allowsUnconditionalUpdate: false,
    hasGeneration: true,
    dependants: "collected",
    gracePeriodSeconds: () => 0,
    prune(object, known) {
      const { value, unknown } = schema().prune(object, known);
      return { object: isJsonObject(value) ? value : object, unknown };
    },
    unreadable: (object) => unreadableBy(envelope(), object),
    withDefaults,
    prepareForCreate: withoutStatus,
    prepareForUpdate: (object, old) => (version.hasStatus ? withMembers(object, { status: old["status"] }) : object),
    prepareForStatusUpdate: statusOnly,
    validateCreate: (object) => ({ causes: inBody(schema().validate(object)), warnings: [] }),
    validateUpdate: (object, old) => ({ causes: inBody(schema().validate(object, { old })), warnings: [] }),
    validateStatusUpdate: (object, old) => ({ causes: inBody(schema().validate(object, { old })), warnings: [] }),
    changesGeneration: (object, old) => !isSameContent(object, old, version),
    row: table.row,
    fieldValue: (object, label) => fields.get(label)?.(object),
    fieldLabels: [...fields.keys()],
    mergeSchema: undefined,
    schema: {
      name: definitionNameOf(type),
      get root() {
        return root();
      },
      resolve: definition,
    },
    ...(mentionsDefault(version.schema) ? { completeStored: withDefaults } : {}),
    ...(scale === undefined ? {} : { scale }),
    ...(storage === undefined ? {} : { storage }),
  };
}

/** Accepted names win over those asked for: after a conflict with another definition only they are served. */
function typeOf(crd: Definition, version: DefinitionVersion): ResourceType {
  const names = crd.acceptedNames ?? crd.names;
  return {
    group: crd.group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular,
    namespaced: crd.namespaced,
    shortNames: names.shortNames,
    categories: names.categories,
  };
}

/** `org.example.demo.v1.Widget`, as Kubernetes names the definitions of custom kinds. */
export const definitionNameOf = (type: ResourceType): string =>
  [...type.group.split(".").reverse(), type.version, type.kind].join(".");

/**
 * The version's schema. One that is not structural was refused when it was written; then nothing is known of the kind.
 */
function rootSchema(version: DefinitionVersion): Schema {
  const read = readStructuralSchema(version.schema ?? {}, []);
  return read.ok ? read.value : { type: "object", "x-kubernetes-preserve-unknown-fields": true };
}

/**
 * Whether there may be a default anywhere in a schema. A property of that name counts too: then objects are looked at
 * for nothing.
 */
function mentionsDefault(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.some((item: JsonValue) => mentionsDefault(item));
  return isJsonObject(schema) && ("default" in schema || Object.values(schema).some(mentionsDefault));
}

const metadataOnly: Schema = { type: "object", properties: { metadata: { $ref: definitionNames.objectMeta } } };
/** What Go reads of any object; the rest of a custom one is for its definition. */
const envelope = lazily(() => compileSchema(metadataOnly, { resolve: definition }));

/** The envelope every object has, whatever the definition says of it. */
function withMetadata(root: Schema): Schema {
  const { metadata, ...properties } = root.properties ?? {};
  const restricted: Schema[] =
    metadata?.properties === undefined ? [] : [{ properties: { metadata: { properties: metadata.properties } } }];
  return {
    ...root,
    properties: {
      ...properties,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { $ref: definitionNames.objectMeta },
    },
    ...(restricted.length === 0 ? {} : { allOf: [...(root.allOf ?? []), ...restricted] }),
  };
}

/** The value is made at the first call and kept; `make` is pure, so it does not matter who calls first. */
function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Those that this version declares. Without `status` the status is an ordinary member, written with the rest. */
const subresourcesOf = (version: DefinitionVersion): readonly Subresource[] => [
  ...(version.hasStatus ? (["status"] as const) : []),
  ...(version.scale === undefined ? [] : (["scale"] as const)),
];

/**
 * Paths of `scale` as the definition has them. Without a path for the selector, the selector of the scale is empty, and
 * autoscalers that count Pods refuse it.
 */
function scaleOf({ scale }: DefinitionVersion): ScalePaths | undefined {
  if (scale === undefined) return undefined;
  const path = textAt(scale, "labelSelectorPath");
  const read = path === undefined ? () => "" : selectable(path);
  return {
    specReplicasPath: textAt(scale, "specReplicasPath") ?? "",
    statusReplicasPath: textAt(scale, "statusReplicasPath") ?? "",
    selector: read,
  };
}

/** Sent with every answer for the version, in Kubernetes' words unless the definition has its own. */
const deprecationWarnings = (type: ResourceType, version: DefinitionVersion): readonly string[] =>
  version.deprecated ? [version.deprecationWarning ?? `${type.group}/${type.version} ${type.kind} is deprecated`] : [];

/** Everything whose change makes a new generation. */
function isSameContent(object: JsonObject, old: JsonObject, { hasStatus }: DefinitionVersion): boolean {
  const isContent = (name: string): boolean => name !== "metadata" && !(hasStatus && name === "status");
  const differs = (name: string): boolean => isContent(name) && !jsonEquals(object[name], old[name]);
  return !Object.keys(object).some(differs) && !Object.keys(old).some(differs);
}

/**
 * A field selector compares texts; nothing found is the empty text, and so is all that a broken path finds.
 */
function selectable(path: string): (object: JsonObject) => string {
  const compiled = compileJsonPath(path);
  return (object) => scalarText(compiled.ok ? firstOf(compiled.value, object) : undefined);
}

/** Of several matches the first counts, as for Kubernetes' columns and selectors. */
function firstOf(path: JsonPath, object: JsonObject): JsonValue | undefined {
  const found = path.find(object);
  return found.ok ? found.value[0] : undefined;
}

/**
 * Versions share one collection, and nothing is converted but the apiVersion. What the schema of the version does not
 * know that an object comes into is lost, as on Kubernetes.
 */
function storageOf(crd: Definition, version: DefinitionVersion, schema: () => CompiledSchema): StorageView | undefined {
  const stored = crd.versions.find((candidate) => candidate.storage);
  if (stored === undefined || crd.versions.length < 2) return undefined;
  const storedSchema =
    stored === version
      ? schema
      : lazily(() => compileSchema(withMetadata(rootSchema(stored)), { resolve: definition }));
  const into = (name: string, known: () => CompiledSchema) => {
    const apiVersion = `${crd.group}/${name}`;
    return (object: JsonObject): JsonObject => {
      if (object["apiVersion"] === apiVersion) return object;
      const { value } = known().prune({ ...object, apiVersion });
      return isJsonObject(value) ? value : object;
    };
  };
  return {
    group: crd.group,
    version: stored.name,
    resource: (crd.acceptedNames ?? crd.names).plural,
    encode: into(stored.name, storedSchema),
    decode: into(version.name, schema),
  };
}

const wrongType = /: must be of type ([a-z ]+), not (\w+)$/;

/**
 * Errors of types in the words that API servers have for custom kinds, which tell the types and not the value:
 * `Invalid value: "string": spec.size in body must be of type integer: "string"`. All other errors stay as they are.
 */
export const inBody = (errors: readonly FieldError[]): readonly FieldError[] =>
  errors.map((error) => {
    const [, expected, found] = wrongType.exec(error.message) ?? [];
    if (error.reason !== "FieldValueTypeInvalid" || expected === undefined) return error;
    const types = expected.replace(" or ", ",");
    return {
      ...error,
      message: `Invalid value: "${found}": ${error.field} in body must be of type ${types}: "${found}"`,
    };
  });
