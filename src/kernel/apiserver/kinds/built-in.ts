import { type Instant, isJsonObject, jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema, type FieldError } from "#lib/schema/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import { definition } from "./definitions.ts";
import { mergeSchemaOf } from "./merge-schema.ts";
import { textAt, withMembers } from "./read.ts";
import type { Column, ServedResource, StorageView, Subresource, Validation } from "./served-resource.ts";

/** Errors and warnings under construction: rules add what they find. */
export interface Findings {
  readonly errors: FieldError[];
  readonly warnings: string[];
}

/** A rule of a kind. On updates `old` is the stored object. It may count on the types of the kind's schema. */
export type Rule = (object: JsonObject, found: Findings, old?: JsonObject) => void;

export interface TableView {
  readonly columns: readonly Column[];
  readonly row: (object: JsonObject, now: Instant) => readonly unknown[];
}

/** What differs between the built-in kinds; everything else they have in common. */
export interface BuiltIn {
  readonly type: ResourceType;
  /** Name of the definition in the data. */
  readonly definition: string;
  readonly table: TableView;
  readonly subresources?: readonly Subresource[];
  readonly allowsUnconditionalUpdate?: boolean;
  readonly hasGeneration?: boolean;
  readonly gracePeriodSeconds?: (object: JsonObject) => number;
  readonly defaults?: (object: JsonObject) => JsonObject;
  readonly prepareForCreate?: (object: JsonObject) => JsonObject;
  readonly prepareForUpdate?: (object: JsonObject, old: JsonObject) => JsonObject;
  readonly rules?: readonly Rule[];
  readonly updateRules?: readonly Rule[];
  readonly statusRules?: readonly Rule[];
  /** Field labels of selectors and how to read them. */
  readonly fields?: Readonly<Record<string, (object: JsonObject) => string>>;
  readonly storage?: StorageView;
}

export const everyVerb = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

/** A field label that reads a text by its path. */
export const textField =
  (...path: readonly string[]) =>
  (object: JsonObject): string =>
    textAt(object, ...path) ?? "";

/** Makes a served resource of a built-in kind. Its schema is compiled when the first object arrives. */
export function serveBuiltIn(kind: BuiltIn): ServedResource {
  const { type, subresources = [] } = kind;
  const hasStatus = subresources.includes("status");
  const schema = lazySchema(kind.definition);
  const fields = new Map(Object.entries(kind.fields ?? {}));
  const keep = (object: JsonObject) => object;
  const validate = (rules: readonly Rule[] | undefined, object: JsonObject, old?: JsonObject): Validation =>
    runRules(schema(), rules ?? [], object, old);
  const prepareForUpdate = kind.prepareForUpdate ?? keep;
  return {
    type,
    listKind: `${type.kind}List`,
    custom: false,
    verbs: everyVerb,
    subresources,
    columns: kind.table.columns,
    warnings: [],
    allowsUnconditionalUpdate: kind.allowsUnconditionalUpdate ?? true,
    hasGeneration: kind.hasGeneration ?? false,
    gracePeriodSeconds: kind.gracePeriodSeconds ?? (() => 0),
    prune(object) {
      const { value, unknown } = schema().prune(object);
      return { object: isJsonObject(value) ? value : object, unknown };
    },
    withDefaults(object) {
      const filled = schema().withDefaults(object);
      return (kind.defaults ?? keep)(isJsonObject(filled) ? filled : object);
    },
    prepareForCreate(object) {
      return (kind.prepareForCreate ?? keep)(hasStatus ? withMembers(object, { status: undefined }) : object);
    },
    prepareForUpdate: (object, old) =>
      prepareForUpdate(hasStatus ? withMembers(object, { status: old["status"] }) : object, old),
    prepareForStatusUpdate: (object, old) => statusOnly(object, old),
    validateCreate: (object) => validate(kind.rules, object),
    validateUpdate: (object, old) => validate([...(kind.rules ?? []), ...(kind.updateRules ?? [])], object, old),
    validateStatusUpdate: (object, old) => validate(kind.statusRules, object, old),
    changesGeneration: (object, old) => !jsonEquals(object["spec"], old["spec"]),
    row: kind.table.row,
    fieldValue: (object, label) => fields.get(label)?.(object),
    fieldLabels: [...fields.keys()],
    mergeSchema: mergeSchemaOf(kind.definition),
    schema: { name: kind.definition, root: { $ref: kind.definition }, resolve: definition },
    ...(kind.storage === undefined ? {} : { storage: kind.storage }),
  };
}

/** On `/status` only status and the metadata that records managers may change. */
export function statusOnly(object: JsonObject, old: JsonObject): JsonObject {
  const managedFields = isJsonObject(object["metadata"]) ? object["metadata"]["managedFields"] : undefined;
  const metadata = isJsonObject(old["metadata"]) ? old["metadata"] : {};
  const sameManagers = managedFields === undefined || jsonEquals(managedFields, metadata["managedFields"]);
  return withMembers(old, {
    status: object["status"],
    ...(sameManagers ? {} : { metadata: { ...metadata, managedFields } }),
  });
}

function lazySchema(name: string): () => CompiledSchema {
  let compiled: CompiledSchema | undefined;
  return () => {
    compiled ??= compileSchema({ $ref: name }, { resolve: definition });
    return compiled;
  };
}

/** Rules run only on objects whose types are right: each may then count on what it reads. */
function runRules(schema: CompiledSchema, rules: readonly Rule[], object: JsonObject, old?: JsonObject): Validation {
  const byType = schema.validate(object, old === undefined ? {} : { old });
  const found: Findings = { errors: [...byType], warnings: [] };
  if (!byType.some((error) => error.reason === "FieldValueTypeInvalid")) {
    for (const rule of rules) rule(object, found, old);
  }
  return { causes: withoutRepetition(found.errors), warnings: [...new Set(found.warnings)] };
}

/** The schema and a rule may both miss the same field: one of them is enough. */
function withoutRepetition(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>();
  return errors.filter(({ reason, field, message }) => {
    const key = reason === "FieldValueRequired" ? `${reason} ${field}` : `${reason} ${field} ${message}`;
    return seen.has(key) ? false : seen.add(key) !== undefined;
  });
}
