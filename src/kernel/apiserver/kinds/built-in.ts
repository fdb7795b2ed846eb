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

/**
 * A rule of a kind: adds to `found` what is wrong with the object, or with its change when `old`, the stored object, is given.
 * Rules run in order, all of them, and only on objects whose types are right: they may count on the types of the kind's
 * schema, not on each other. Metadata has rules of its own, which are the same for every kind.
 */
export type Rule = (object: JsonObject, found: Findings, old?: JsonObject) => void;

/** What `kubectl get` shows of a kind. `row` gives one cell per column, in their order, whatever the object lacks. */
export interface TableView {
  readonly columns: readonly Column[];
  /** `now` is for ages, which are computed by the server and go stale in the client. */
  readonly row: (object: JsonObject, now: Instant) => readonly unknown[];
}

/**
 * What differs between the built-in kinds; everything else they have in common. Absent members are the common case: no
 * subresources, no rules, no generation. All functions are pure and return the object they were given when they change nothing.
 *
 * A POST goes through prune, `defaults`, `prepareForCreate`, `rules`; a PUT or PATCH through prune, `defaults`,
 * `prepareForUpdate`, `rules`, `updateRules`; on `/status` only `statusRules` are asked.
 */
export interface BuiltIn {
  readonly type: ResourceType;
  /** Name of the definition in the data, such as `io.k8s.api.core.v1.Pod`: types, pruning and zero values come from it. */
  readonly definition: string;
  readonly table: TableView;
  /** With `status`, the main endpoint leaves status alone, and creation drops the one that was sent. */
  readonly subresources?: readonly Subresource[];
  /** True where a new object brings its status along, as a Node does that registers; else status has one way in. */
  readonly createsWithStatus?: boolean;
  /** \`everyVerb\` when absent. */
  readonly verbs?: readonly string[];
  /** False when a PUT must carry a resourceVersion; true when absent. */
  readonly allowsUnconditionalUpdate?: boolean;
  /** True when `metadata.generation` counts changes of `spec`; a Pod has a spec and no generation. */
  readonly hasGeneration?: boolean;
  /** `collected` when absent; see `ServedResource`. */
  readonly dependants?: ServedResource["dependants"];
  /** Seconds a deleted object has to end; 0 when it goes at once, which is the default. */
  readonly gracePeriodSeconds?: (object: JsonObject) => number;
  /** What Kubernetes fills in by code, after the zero values of the schema. Idempotent: it runs on every write. */
  readonly defaults?: (object: JsonObject) => JsonObject;
  /** What the server owns in a new object, which has its uid, name and namespace by now. */
  readonly prepareForCreate?: (object: JsonObject, writer?: Identity) => JsonObject;
  /** See `ServedResource`. */
  readonly isPlain?: (object: JsonObject) => boolean;
  /** What of `old` stays whatever a client sends. Status has been put back before. */
  readonly prepareForUpdate?: (object: JsonObject, old: JsonObject) => JsonObject;
  /** Asked of new and changed objects alike. */
  readonly rules?: readonly Rule[];
  /** What may not change; asked after `rules`. */
  readonly updateRules?: readonly Rule[];
  /** Asked on `/status`, instead of the others: a status may be written on an object whose spec is refused today. */
  readonly statusRules?: readonly Rule[];
  /** Labels of field selectors besides metadata.name and metadata.namespace, and how to read them: "" stands for absent. */
  readonly fields?: Readonly<Record<string, (object: JsonObject) => string>>;
  /** See `ServedResource`. */
  readonly allot?: Allot;
  /** Present with the subresource `scale`. */
  readonly scale?: ScalePaths;
  /** Top-level members whose values stand in no message: those of Secrets, which would come to logs and statuses that others read. */
  readonly hidden?: readonly string[];
  /** Present when the objects are stored as those of another kind. */
  readonly storage?: StorageView;
  /** See `ServedResource`. */
  readonly isReview?: boolean;
}

/** What can be done to objects of built-in and custom kinds alike, in the order of discovery documents. */
export const everyVerb = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

/** A field label that reads a text by its path: `textField("status", "phase")`. Empty when there is none. */
export const textField =
  (...path: readonly string[]) =>
  (object: JsonObject): string =>
    textAt(object, ...path) ?? "";

/**
 * Makes a served resource of a built-in kind. Its schema is compiled when the first object arrives, because most of a server's
 * kinds never see one in a short run. The result holds no state but that schema.
 */
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

/** Schemas of built-in types say what Go can read, and what must be there: absence is for the rules of the kind. */
export const unreadableBy = (schema: CompiledSchema, object: JsonObject): readonly FieldError[] =>
  schema.validate(object).filter(({ reason }) => reason !== "FieldValueRequired");

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

/** The compiled schema of a definition, made at the first call. */
function lazySchema(name: string): () => CompiledSchema {
  let compiled: CompiledSchema | undefined;
  return () => {
    compiled ??= compileSchema({ $ref: name }, { resolve: definition });
    return compiled;
  };
}

/** A Status is repeated in logs, events and the status of whatever made the request: what is wrong is told, not what was sent. */
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

/**
 * Rules run only on objects whose types are right: each may then count on what it reads. What was wrong with the stored object
 * already does not stand in the way of a change: a rule that came with a newer server must not keep finalizers from being
 * removed. `changeRules` are about the change itself, and always stand.
 */
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

/** The errors that the rules do not find in the stored object too. They are asked about it only when there are errors at all. */
function newOnes(errors: readonly FieldError[], rules: readonly Rule[], old: JsonObject): readonly FieldError[] {
  if (errors.length === 0) return errors;
  const before = noFindings();
  for (const rule of rules) rule(old, before, old);
  const known = new Set(refusals(before).map(({ reason, field, message }) => `${reason} ${field} ${message}`));
  return errors.filter(({ reason, field, message }) => !known.has(`${reason} ${field} ${message}`));
}
