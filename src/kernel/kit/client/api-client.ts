import type { JsonValue, Millis } from "#lib/base/index.ts";
import type { KubeObject, ObjectList, ResourceType, Status, Stored } from "#kernel/model/index.ts";

/** Names one object. `namespace` is absent for cluster-scoped kinds. */
export interface Ref {
  readonly type: ResourceType;
  readonly namespace?: string;
  readonly name: string;
}

export interface ListOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  /** Page size; with `limit` one page is returned, without it the client reads all pages. */
  readonly limit?: number;
  readonly continue?: string;
  readonly signal?: AbortSignal;
}

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Changes after this revision; absent: first the present objects as ADDED, then changes. */
  readonly resourceVersion?: string;
  readonly allowBookmarks?: boolean;
  /** WatchList: present objects, then a bookmark annotated `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean;
  readonly resourceVersionMatch?: "NotOlderThan";
  /** The server ends the watch normally after this long. */
  readonly timeout?: Millis;
  readonly signal: AbortSignal;
}

export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: Stored<T> }
  | { readonly type: "BOOKMARK"; readonly object: KubeObject };

export interface WriteOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  readonly signal?: AbortSignal;
}

export type Patch =
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: "merge"; readonly body: JsonValue }
  | { readonly type: "strategic"; readonly body: JsonValue };

export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

export interface DeleteOptions {
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** Options of `pods/log`; meanings as in Kubernetes. */
export interface LogOptions {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  readonly limitBytes?: number;
  readonly signal?: AbortSignal;
}

/**
 * The one way Slipway's controllers and commands talk to a Kubernetes API, embedded or real.
 *
 * Objects returned are deep-frozen and keep fields that Slipway does not know. Every refusal is an `ApiError`; a server that
 * cannot be reached is a `SlipwayError`. A write that resolves is durable. `type` of an object to be written is found by its
 * apiVersion and kind through `resourceType`, or given by the caller who has it at hand.
 */
export interface ApiClient {
  get<T extends KubeObject = KubeObject>(ref: Ref, options?: { readonly signal?: AbortSignal }): Promise<Stored<T>>;
  list<T extends KubeObject = KubeObject>(type: ResourceType, options?: ListOptions): Promise<ObjectList<Stored<T>>>;
  /** Ends when the server ends it; throws ApiError (`isGone` when the revision is compacted); returns when the signal aborts. */
  watch<T extends KubeObject = KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  update<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  patch<T extends KubeObject = KubeObject>(
    ref: Ref,
    patch: Patch,
    options?: WriteOptions & { readonly subresource?: string },
  ): Promise<Stored<T>>;
  /** Answers with the object while it is still terminating, or with the Status of its removal. */
  delete(ref: Ref, options?: DeleteOptions): Promise<KubeObject | Status>;
  deleteCollection(type: ResourceType, options?: ListOptions & DeleteOptions): Promise<void>;
  logs(ref: Ref, options?: LogOptions): AsyncIterable<Uint8Array>;
  /** How a kind is addressed, from discovery; undefined when the server does not serve it. Cached until a miss. */
  resourceType(apiVersion: string, kind: string): Promise<ResourceType | undefined>;
  /** All served kinds. */
  resourceTypes(): Promise<readonly ResourceType[]>;
  /** Any other GET (`/version`, `/readyz`, `/openapi/v3`): the body as text. `accept` is the media type asked for. */
  raw(path: string, options?: { readonly signal?: AbortSignal; readonly accept?: string }): Promise<string>;
  close(): Promise<void>;
}
