import type { Instant, JsonObject, JsonValue, Random } from "#lib/base/index.ts";
import type { FieldError, Schema } from "#lib/schema/index.ts";
import type { ResourceType, StatusCause, Writer } from "#kernel/model/index.ts";

/** A column of a server-side table. `priority` above 0 shows only with `-o wide`. */
export interface Column {
  readonly name: string;
  readonly type: "integer" | "number" | "string" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  readonly priority: number;
}

/** An object without what its schema does not know; `unknown` names what that was, by field paths such as `spec.stpes`. */
export interface Pruned {
  readonly object: JsonObject;
  readonly unknown: readonly string[];
}

/** Parts of an object with a path of their own. `token` is of ServiceAccounts; `log`, `exec`, `attach`, `portforward` and `eviction` are of Pods, `finalize` of Namespaces; `scale` is of Deployments, ReplicaSets, and custom kinds that ask for it. */
export type Subresource =
  | "status"
  | "log"
  | "finalize"
  | "scale"
  | "token"
  | "eviction"
  | "exec"
  | "attach"
  | "portforward";

/**
 * Everything the request pipeline needs to know of one served kind, built-in or custom, as pure functions of objects. Objects
 * are never edited in place. The pipeline asks in this order: prune, withDefaults, prepare…, validate….
 */
export interface ServedResource {
  readonly type: ResourceType;
  /** True where the definition wants this version to stand first in its group, before those of a higher priority. */
  readonly isPreferred?: boolean;
  /** The kind of a list of these objects: `PodList`, or what a definition says. */
  readonly listKind: string;
  /** False for built-in kinds, which alone have strategic merge. */
  readonly custom: boolean;
  /** What can be done to the objects, as discovery lists it. */
  readonly verbs: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Those of `row`, in its order. */
  readonly columns: readonly Column[];
  /** Warnings sent with every answer of this version (deprecation). */
  readonly warnings: readonly string[];
  /** PUT without resourceVersion allowed (built-ins but Lease and CustomResourceDefinition). */
  readonly allowsUnconditionalUpdate: boolean;
  /** Has `spec` semantics: generation is kept. */
  readonly hasGeneration: boolean;
  /**
   * What becomes of the objects that name an object of this kind as their owner when a DELETE does not say: they are collected, or they are
   * left alone (Jobs, since their first version). `none`: nothing is ever done about them, whatever a DELETE says (Events).
   */
  readonly dependants: "collected" | "orphaned" | "none";
  /** Pod: a DELETE with a period leaves a terminating object. Period in seconds of this object, 0 when it goes at once. */
  gracePeriodSeconds(object: JsonObject): number;
  /**
   * Drops fields the schema does not know. Parts that are the very ones of `known`, an object this kind has pruned before, are
   * not looked at again.
   */
  prune(object: JsonObject, known?: JsonObject): Pruned;
  /**
   * What Kubernetes' decoder would not read of a pruned object: everything of a built-in kind that has another type than its field, the
   * metadata of any. Asked about objects that are refused anyway.
   */
  unreadable(object: JsonObject): readonly FieldError[];
  /** Fills in what is absent. Idempotent; the object itself when nothing was. */
  withDefaults(object: JsonObject): JsonObject;
  /**
   * Present for custom kinds with defaults in their schema, which may have been added after an object was stored: what readers see has
   * them. The object itself when nothing is missing.
   */
  completeStored?(object: JsonObject): JsonObject;
  /** Server-owned changes at creation (Secret `stringData` folded in, Job selector and labels, status dropped). */
  prepareForCreate(object: JsonObject, writer?: Writer): JsonObject;
  /**
   * Present where objects of one simple shape are created in large numbers. True only when it can be seen without the schema that
   * prune, withDefaults and prepareForCreate would leave the object as it is, and that validateCreate and the rules for metadata
   * would find nothing wrong; false: ask them.
   */
  isPlain?(object: JsonObject): boolean;
  /** Present where a controller acts for the writers of an object: the part of it that says what is done. See `withWriters`. */
  actsOn?(object: JsonObject): JsonValue | undefined;
  /** Present where what the server does follows from a status: the part of it that only this process and administrators may write. */
  ownStatus?(status: JsonObject): JsonValue | undefined;
  /** Server-owned changes on the main endpoint (status kept from `old`, …). */
  prepareForUpdate(object: JsonObject, old: JsonObject): JsonObject;
  /** On `/status`: everything but status from `old`. */
  prepareForStatusUpdate(object: JsonObject, old: JsonObject): JsonObject;
  /** All errors beyond metadata's own; causes carry reason, field and message. Warnings are for the Warning header. */
  validateCreate(object: JsonObject): Validation;
  validateUpdate(object: JsonObject, old: JsonObject): Validation;
  validateStatusUpdate(object: JsonObject, old: JsonObject): Validation;
  /** True when a change of this kind of object raises `metadata.generation`. */
  changesGeneration(object: JsonObject, old: JsonObject): boolean;
  /** Cells of one table row, one per column; `now` is for ages. */
  row(object: JsonObject, now: Instant): readonly unknown[];
  /** Value of a supported field label other than metadata.name and metadata.namespace; undefined when the label is not supported. */
  fieldValue(object: JsonObject, label: string): string | undefined;
  /** All labels that `fieldValue` knows; a 400 for another one lists them. */
  readonly fieldLabels: readonly string[];
  /** Present for built-ins: the schema that tells how a strategic merge patch treats lists. */
  readonly mergeSchema: MergeSchema | undefined;
  /** Where the kind's types are described: read by OpenAPI and server-side apply. */
  readonly schema: KindSchema;
  /**
   * Present where objects get something that no two of them may have, such as an address. Asked inside the critical section after all
   * rules, with the other objects of the kind.
   */
  readonly allot?: Allot;
  /** Present with the `scale` subresource: where replicas and selector stand in the object. */
  readonly scale?: ScalePaths;
  /** Present when objects are stored in another shape or collection than they are served in. */
  readonly storage?: StorageView;
  /** True for questions in the form of objects: creating one answers it, and nothing is stored. */
  readonly isReview?: boolean;
}

/** An object with what it was given, or why it cannot have what it asked for. */
export interface Allotment {
  readonly object: JsonObject;
  readonly causes: readonly StatusCause[];
}

/** Synchronous. `random` gives numbers in [0, 1). */
export type Allot = (object: JsonObject, others: Iterable<JsonObject>, random: Random) => Allotment;

/** `name` is the definition's name in OpenAPI documents. `root` may refer to other definitions, which `resolve` finds. */
export interface KindSchema {
  readonly name: string;
  readonly root: Schema;
  resolve(ref: string): Schema | undefined;
}

/** Where the members stand that `autoscaling/v1 Scale` shows. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** The labels of its Pods in the syntax of `-l`; "" when it has none. */
  selector(object: JsonObject): string;
}

/** A second view of stored objects: `events.k8s.io` Events are core Events, and a CRD's versions share one collection. */
export interface StorageView {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Served form to stored form. */
  encode(object: JsonObject): JsonObject;
  /** Stored form to served form; must keep `metadata` as it is. */
  decode(object: JsonObject): JsonObject;
}

/** What rules found. No causes: the object may be stored. Warnings never stand in the way. */
export interface Validation {
  readonly causes: readonly StatusCause[];
  readonly warnings: readonly string[];
}

/** How a strategic merge patch walks a value. `mergeKey` absent on a list: replaced whole, unless `strategy` is merge (a set of scalars). */
export interface MergeSchema {
  field(name: string): MergeSchema | undefined;
  readonly items: MergeSchema | undefined;
  readonly mergeKey: string | undefined;
  readonly strategies: readonly ("merge" | "replace" | "retainKeys")[];
}

/** The kinds served at this moment; changes when CustomResourceDefinitions do. */
export interface ResourceRegistry {
  /** By path parts; undefined when not served. */
  find(group: string, version: string, plural: string): ServedResource | undefined;
  findKind(group: string, version: string, kind: string): ServedResource | undefined;
  all(): readonly ServedResource[];
  /** Counts changes; caches of discovery and OpenAPI are keyed by it. */
  readonly generation: number;
}
