import { type Instant, isJsonObject, jsonEquals, type JsonObject, textAt } from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema, type FieldError } from "#lib/schema/index.ts";
import type { ResourceType, StatusCause } from "#kernel/model/index.ts";
import { definition, type Findings, noFindings, withMembers, withoutRepetition } from "#kernel/specs/index.ts";
import type { Identity } from "../authz/identity.ts";
import { mergeSchemaOf } from "./merge-schema.ts";
import type {
  Allot,
  Column,
  ScalePaths,
  ServedResource,
  StorageView,
  Subresource,
  Validation,
} from "./served-resource.ts";

/** Adds errors to `found`, also for a change from `old`. Runs on valid types; metadata is checked separately. */
export type Rule = (object: JsonObject, found: Findings, old?: JsonObject) => void;

/** What `kubectl get` shows: `row` returns one cell per column. */
export interface TableView {
  readonly columns: readonly Column[];
  /** `now` is for ages. */
  readonly row: (object: JsonObject, now: Instant) => readonly unknown[];
}

/** All functions are pure and return their argument when they change nothing. */
export interface BuiltIn {
  readonly type: ResourceType;
  /** Definition in the data, such as `io.k8s.api.core.v1.Pod`. */
  readonly definition: string;
  readonly table: TableView;
  /** With `status`, the main endpoint ignores the status. */
  readonly subresources?: readonly Subresource[];
  /** A new object may have a status, as a Node that registers does. */
  readonly createsWithStatus?: boolean;
  /** Defaults to `everyVerb`. */
  readonly verbs?: readonly string[];
  /** False when a PUT needs a resourceVersion; true by default. */
  readonly allowsUnconditionalUpdate?: boolean;
  /** `metadata.generation` counts changes of `spec`. */
  readonly hasGeneration?: boolean;
  readonly dependants?: ServedResource["dependants"];
  /** Seconds a deleted object has to terminate; 0 by default. */
  readonly gracePeriodSeconds?: (object: JsonObject) => number;
  /** Kubernetes' computed defaults, after the schema's. Idempotent: runs on every write. */
  readonly defaults?: (object: JsonObject) => JsonObject;
  /** The server's part of a new object, which has its uid, name and namespace. */
  readonly prepareForCreate?: (object: JsonObject, writer?: Identity) => JsonObject;
  readonly isPlain?: (object: JsonObject) => boolean;
  /** What is kept from `old`; the status already is. */
  readonly prepareForUpdate?: (object: JsonObject, old: JsonObject) => JsonObject;
  /** For new and changed objects. */
  readonly rules?: readonly Rule[];
  /** For changes, after `rules`. */
  readonly updateRules?: readonly Rule[];
  /** For `/status`, instead of the others. */
  readonly statusRules?: readonly Rule[];
  /** Field selector labels besides metadata.name and metadata.namespace; "" means absent. */
  readonly fields?: Readonly<Record<string, (object: JsonObject) => string>>;
  readonly allot?: Allot;
  readonly scale?: ScalePaths;
  /** Top-level members whose values must not appear in messages, such as those of Secrets. */
  readonly hidden?: readonly string[];
  /** For objects stored as another kind. */
  readonly storage?: StorageView;
  readonly isReview?: boolean;
}

/** In the order of discovery documents. */
export const everyVerb = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

/** A field label for a text at a path; "" when absent. */
export const textField =
  (...path: readonly string[]) =>
  (object: JsonObject): string =>
    textAt(object, ...path) ?? "";

/** Makes a served resource of a built-in kind. Its schema is compiled on first use. */
export function serveBuiltIn(kind: BuiltIn): ServedResource {
  const { type, subresources = [] } = kind;
  const hasStatus = subresources.includes("status");
  const schema = lazySchema(kind.definition);
  const fields = new Map(Object.entries(kind.fields ?? {}));
  const keep = (object: JsonObject) => object;
  const judge = (rules: readonly Rule[], changeRules: readonly Rule[], object: JsonObject, old?: JsonObject) =>
    withoutValues(kind.hidden, runRules(schema(), rules, changeRules, object, old));
  const prepareForUpdate = kind.prepareForUpdate ?? keep;
  return {
    type,
    listKind: `${type.kind}List`,
    custom: false,
    verbs: kind.verbs ?? everyVerb,
    subresources,
    columns: kind.table.columns,
    warnings: [],
    allowsUnconditionalUpdate: kind.allowsUnconditionalUpdate ?? true,
    hasGeneration: kind.hasGeneration ?? false,
    dependants: kind.dependants ?? "collected",
    gracePeriodSeconds: kind.gracePeriodSeconds ?? (() => 0),
    prune(object) {
      const { value, unknown } = schema().prune(object);
      return { object: isJsonObject(value) ? value : object, unknown };
    },
    unreadable: (object) => unreadableBy(schema(), object),
    withDefaults(object) {
      const filled = schema().withDefaults(object);
      return (kind.defaults ?? keep)(isJsonObject(filled) ? filled : object);
    },
    prepareForCreate(object, writer) {
      return (kind.prepareForCreate ?? keep)(
        hasStatus && kind.createsWithStatus !== true ? withMembers(object, { status: undefined }) : object,
        writer,
      );
    },
    prepareForUpdate: (object, old) =>
      prepareForUpdate(hasStatus ? withMembers(object, { status: old["status"] }) : object, old),
    prepareForStatusUpdate: (object, old) => statusOnly(object, old),
    validateCreate: (object) => judge(kind.rules ?? [], [], object),
    validateUpdate: (object, old) => judge(kind.rules ?? [], kind.updateRules ?? [], object, old),
    validateStatusUpdate: (object, old) => judge([], kind.statusRules ?? [], object, old),
    changesGeneration: (object, old) => !jsonEquals(object["spec"], old["spec"]),
    row: kind.table.row,
    fieldValue: (object, label) => fields.get(label)?.(object),
    fieldLabels: [...fields.keys()],
    mergeSchema: mergeSchemaOf(kind.definition),
    schema: { name: kind.definition, root: { $ref: kind.definition }, resolve: definition },
    ...(kind.storage === undefined ? {} : { storage: kind.storage }),
    ...(kind.allot === undefined ? {} : { allot: kind.allot }),
    ...(kind.scale === undefined ? {} : { scale: kind.scale }),
    ...(kind.isReview === undefined ? {} : { isReview: kind.isReview }),
    ...(kind.isPlain === undefined ? {} : { isPlain: kind.isPlain }),
  };
}

/** Errors of types; missing members are left to the rules of the kind. */
export const unreadableBy = (schema: CompiledSchema, object: JsonObject): readonly FieldError[] =>
  schema.validate(object).filter(({ reason }) => reason !== "FieldValueRequired");

/** On `/status` only status and managedFields may change. */
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

/** A Status is repeated in logs and events, so hidden values are removed from it. */
function withoutValues(hidden: readonly string[] | undefined, { causes, warnings }: Validation): Validation {
  if (hidden === undefined || causes.length === 0) return { causes, warnings };
  const isHidden = ({ field = "" }: StatusCause) =>
    hidden.some((member) => field === member || field.startsWith(`${member}.`));
  const shown = (cause: StatusCause): StatusCause => {
    const { message = "" } = cause;
    return isHidden(cause) ? { ...cause, message: message.replace(/^Invalid value: .*: /s, "Invalid value: ") } : cause;
  };
  return { causes: causes.map(shown), warnings };
}

/** Errors that the stored object already has do not block a change; `changeRules` always apply. */
function runRules(
  schema: CompiledSchema,
  rules: readonly Rule[],
  changeRules: readonly Rule[],
  object: JsonObject,
  old?: JsonObject,
): Validation {
  const byType = schema.validate(object, old === undefined ? {} : { old });
  if (byType.some((error) => error.reason === "FieldValueTypeInvalid")) return { causes: byType, warnings: [] };
  const found = noFindings();
  for (const rule of rules) rule(object, found, old);
  const errors = old === undefined ? refusals(found) : newOnes(refusals(found), rules, old);
  const ofChange = noFindings();
  for (const rule of changeRules) rule(object, ofChange, old);
  return {
    causes: withoutRepetition([...byType, ...errors, ...refusals(ofChange)]),
    warnings: [...new Set([...found.warnings, ...ofChange.warnings])],
  };
}

const refusals = ({ errors, unsupported }: Findings): readonly FieldError[] => [...errors, ...unsupported];

/** The errors that the stored object does not have. */
function newOnes(errors: readonly FieldError[], rules: readonly Rule[], old: JsonObject): readonly FieldError[] {
  if (errors.length === 0) return errors;
  const before = noFindings();
  for (const rule of rules) rule(old, before, old);
  const known = new Set(refusals(before).map(({ reason, field, message }) => `${reason} ${field} ${message}`));
  return errors.filter(({ reason, field, message }) => !known.has(`${reason} ${field} ${message}`));
}
