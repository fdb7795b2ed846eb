import type { Instant, JsonObject, JsonValue, Random } from "#lib/base/index.ts";
import type { FieldError, Schema } from "#lib/schema/index.ts";
import type { ResourceType, StatusCause, Writer } from "#kernel/model/index.ts";

export interface Column {
  readonly name: string;
  readonly type: "integer" | "number" | "string" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  readonly priority: number;
}

/** `unknown` has the paths of removed fields, such as `spec.stpes`. */
export interface Pruned {
  readonly object: JsonObject;
  readonly unknown: readonly string[];
}

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

/** Pure functions, called in this order: prune, withDefaults, prepare…, validate…. */
export interface ServedResource {
  readonly type: ResourceType;
  /** The version to list first in its group, whatever its priority. */
  readonly isPreferred?: boolean;
  readonly listKind: string;
  readonly custom: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly Subresource[];
  readonly columns: readonly Column[];
  /** Sent with every answer of this version (deprecation). */
  readonly warnings: readonly string[];
  /** A PUT may omit the resourceVersion (all built-ins except Lease and CustomResourceDefinition). */
  readonly allowsUnconditionalUpdate: boolean;
  /** Generation counts changes of the spec. */
  readonly hasGeneration: boolean;
  /** Default for an owner's dependants: collected, left alone (Jobs), or never touched (Events). */
  readonly dependants: "collected" | "orphaned" | "none";
  /** Seconds a deleted object stays terminating; 0 removes it at once. */
  gracePeriodSeconds(object: JsonObject): number;
  /** Removes fields unknown to the schema. Parts shared with `known`, an object pruned before, are skipped. */
  prune(object: JsonObject, known?: JsonObject): Pruned;
  /** What Kubernetes' decoder would refuse in a pruned object: wrong types of built-in kinds, and of any metadata. */
  unreadable(object: JsonObject): readonly FieldError[];
  /** Idempotent; returns the same object when nothing is absent. */
  withDefaults(object: JsonObject): JsonObject;
  /** For custom kinds with defaults, which may be newer than a stored object. */
  completeStored?(object: JsonObject): JsonObject;
  /** The server's changes at creation (Secret `stringData`, Job selector, status dropped). */
  prepareForCreate(object: JsonObject, writer?: Writer): JsonObject;
  /** For frequent kinds: true if prune, withDefaults, prepareForCreate and validation would not change or refuse it. */
  isPlain?(object: JsonObject): boolean;
  /** For kinds whose controller acts for the writers: the part of the object that says what is done (`withWriters`). */
  actsOn?(object: JsonObject): JsonValue | undefined;
  /** The part of the status that only this process and administrators may write; `before` is the stored status. */
  ownStatus?(status: JsonObject, before?: JsonObject): JsonValue | undefined;
  prepareForUpdate(object: JsonObject, old: JsonObject): JsonObject;
  /** On `/status`: everything except status comes from `old`. */
  prepareForStatusUpdate(object: JsonObject, old: JsonObject): JsonObject;
  /** Works out in steps what the validation of the same large object takes. */
  ahead?(object: JsonObject): Iterable<undefined>;
  /** Errors beyond metadata's; warnings are for the Warning header. */
  validateCreate(object: JsonObject): Validation;
  validateUpdate(object: JsonObject, old: JsonObject): Validation;
  validateStatusUpdate(object: JsonObject, old: JsonObject): Validation;
  /** Rules that take time, of a valid new or changed object. Awaited outside of the critical section. */
  review?(object: JsonObject): Promise<Validation>;
  /** Why others than this process may not delete an object now; none: they may. Awaited like `review`. */
  reviewDeletion?(object: JsonObject): Promise<readonly string[]>;
  /** `others`: writes of this process are not reviewed. */
  readonly reviews?: "others";
  changesGeneration(object: JsonObject, old: JsonObject): boolean;
  /** One cell per column; `now` is for ages. */
  row(object: JsonObject, now: Instant): readonly unknown[];
  /** The value of a field label; undefined when not supported. */
  fieldValue(object: JsonObject, label: string): string | undefined;
  readonly fieldLabels: readonly string[];
  /** For built-in kinds: how a strategic merge patch treats lists. */
  readonly mergeSchema: MergeSchema | undefined;
  readonly schema: KindSchema;
  /** Assigns what only one object may have, such as an address; runs in the critical section after all rules. */
  readonly allot?: Allot;
  /** For the `scale` subresource. */
  readonly scale?: ScalePaths;
  /** For objects stored in another form or collection. */
  readonly storage?: StorageView;
  /** A question: creating one answers it and stores nothing. */
  readonly isReview?: boolean;
}

export interface Allotment {
  readonly object: JsonObject;
  readonly causes: readonly StatusCause[];
}

export type Allot = (object: JsonObject, others: Iterable<JsonObject>, random: Random) => Allotment;

/** `name` is the definition's in OpenAPI; `resolve` finds references of `root`. */
export interface KindSchema {
  readonly name: string;
  readonly root: Schema;
  resolve(ref: string): Schema | undefined;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** The Pods' labels in the syntax of `-l`, or "". */
  selector(object: JsonObject): string;
}

/** `events.k8s.io` Events are stored as core Events, and a CRD's versions share one collection. */
export interface StorageView {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  encode(object: JsonObject): JsonObject;
  /** Must keep `metadata`. */
  decode(object: JsonObject): JsonObject;
}

/** Without causes the object may be stored. */
export interface Validation {
  readonly causes: readonly StatusCause[];
  readonly warnings: readonly string[];
}

/** A list without `mergeKey` is replaced, or merged as a set with the strategy merge. */
export interface MergeSchema {
  field(name: string): MergeSchema | undefined;
  readonly items: MergeSchema | undefined;
  readonly mergeKey: string | undefined;
  readonly strategies: readonly ("merge" | "replace" | "retainKeys")[];
}

export interface ResourceRegistry {
  find(group: string, version: string, plural: string): ServedResource | undefined;
  findKind(group: string, version: string, kind: string): ServedResource | undefined;
  all(): readonly ServedResource[];
  /** Counts changes, for caches. */
  readonly generation: number;
}
