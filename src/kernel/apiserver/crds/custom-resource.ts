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
  // Compiled on first use: most processes use few of the kinds they serve.
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

/** Only the accepted names are served, even during a conflict. */
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

/** As Kubernetes names it: `org.example.demo.v1.Widget`. */
export const definitionNameOf = (type: ResourceType): string =>
  [...type.group.split(".").reverse(), type.version, type.kind].join(".");

/** A definition with an invalid schema was refused, so it has none here. */
function rootSchema(version: DefinitionVersion): Schema {
  const read = readStructuralSchema(version.schema ?? {}, []);
  return read.ok ? read.value : { type: "object", "x-kubernetes-preserve-unknown-fields": true };
}

/** May be true for a property of that name, which only costs time. */
function mentionsDefault(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.some((item: JsonValue) => mentionsDefault(item));
  return isJsonObject(schema) && ("default" in schema || Object.values(schema).some(mentionsDefault));
}

const metadataOnly: Schema = { type: "object", properties: { metadata: { $ref: definitionNames.objectMeta } } };
/** The members that Go decodes for any object. */
const envelope = lazily(() => compileSchema(metadataOnly, { resolve: definition }));

/** Adds the members that every object has. */
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

/** Keeps the first result; `make` is pure. */
function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Without `status`, the status is an ordinary member. */
const subresourcesOf = (version: DefinitionVersion): readonly Subresource[] => [
  ...(version.hasStatus ? (["status"] as const) : []),
  ...(version.scale === undefined ? [] : (["scale"] as const)),
];

/** Without a selector path the selector is empty, and autoscalers that count Pods refuse it. */
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

/** Kubernetes' text unless the definition has its own. */
const deprecationWarnings = (type: ResourceType, version: DefinitionVersion): readonly string[] =>
  version.deprecated ? [version.deprecationWarning ?? `${type.group}/${type.version} ${type.kind} is deprecated`] : [];

/** True unless the change makes a new generation. */
function isSameContent(object: JsonObject, old: JsonObject, { hasStatus }: DefinitionVersion): boolean {
  const isContent = (name: string): boolean => name !== "metadata" && !(hasStatus && name === "status");
  const differs = (name: string): boolean => isContent(name) && !jsonEquals(object[name], old[name]);
  return !Object.keys(object).some(differs) && !Object.keys(old).some(differs);
}

/** "" without a match or for an invalid path. */
function selectable(path: string): (object: JsonObject) => string {
  const compiled = compileJsonPath(path);
  return (object) => scalarText(compiled.ok ? firstOf(compiled.value, object) : undefined);
}

/** The first match counts, as in Kubernetes. */
function firstOf(path: JsonPath, object: JsonObject): JsonValue | undefined {
  const found = path.find(object);
  return found.ok ? found.value[0] : undefined;
}

/** Versions share a collection; only apiVersion is converted. A version's schema prunes fields it does not know. */
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

/** Custom kinds report types, not values: `Invalid value: "string": spec.size in body must be of type integer`. */
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
