import type { JsonValue, Millis } from "#lib/base/index.ts";
import type { KubeObject, ObjectList, ResourceType, Status, Stored } from "#kernel/model/index.ts";

// The contract between controllers and any Kubernetes API. `client.contract.ts` is this file as tests: whatever implements it passes them,
// and what a client may rely on is what stands here or there.

/** Names one object. `namespace` is absent for cluster-scoped kinds. */
export interface Ref {
  readonly type: ResourceType;
  readonly namespace?: string;
  readonly name: string;
}

/** What to list. Selectors are in Kubernetes' text form; those that cannot be read are refused as BadRequest. An empty selector, namespace, revision or token counts as absent. */
export interface ListOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Absent: the newest state. `0`: any state the server has at hand. Else at least this one, or exactly it. */
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  /** Page size; with `limit` one page is returned, without it the client reads all pages. */
  readonly limit?: number;
  /** The token of the page before; the other options must be those of the first page. Refused as gone when it is too old. */
  readonly continue?: string;
  readonly signal?: AbortSignal;
}

/** What to watch and from where. */
export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Changes after this revision; absent: first the present objects as ADDED, then changes. */
  readonly resourceVersion?: string;
  /** Now and then an event that only carries a revision, so that a quiet watch can be resumed near the present. */
  readonly allowBookmarks?: boolean;
  /** WatchList: present objects, then a bookmark annotated `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean;
  readonly resourceVersionMatch?: "NotOlderThan";
  /** The server ends the watch normally after this long. */
  readonly timeout?: Millis;
  readonly signal: AbortSignal;
}

/**
 * One change. Events of one watch come in the order of their revisions, each once. An object that begins to match the selector is
 * ADDED, one that ceases to is DELETED. DELETED carries the last state with the revision of the deletion.
 */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: Stored<T> }
  | { readonly type: "BOOKMARK"; readonly object: KubeObject };

/** How to write. */
export interface WriteOptions {
  /** Who owns the fields written, at most 128 characters; the user agent's name when absent. */
  readonly fieldManager?: string;
  /** Everything is checked and answered as if done; nothing is stored and nobody hears of it. */
  readonly dryRun?: boolean;
  /** What becomes of fields the schema does not know: refused, warned about (the default), or dropped silently. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  readonly signal?: AbortSignal;
}

/**
 * A change of one object: RFC 6902, RFC 7386, strategic merge (built-in kinds only), or server-side apply, which creates the object
 * when there is none. A resourceVersion in it is a condition.
 */
export type Patch =
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: "merge"; readonly body: JsonValue }
  | { readonly type: "strategic"; readonly body: JsonValue }
  /** A whole declaration, owned by `fieldManager`, which must be given. Conflict when others own what would change, unless `force`. */
  | { readonly type: "apply"; readonly body: JsonValue; readonly force?: boolean };

/** One operation of RFC 6902; `path` and `from` are JSON pointers. */
export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

/** How to delete. */
export interface DeleteOptions {
  /** What becomes of the objects it owns: they go first, they go later (the default), or they stay. */
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  /** Seconds a Pod gets to end; 0 removes it at once. */
  readonly gracePeriodSeconds?: number;
  /** Refused as a conflict when the object is another one. */
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
  /** RFC 3339; servers may take it by whole seconds. Not with `sinceSeconds`. */
  readonly sinceTime?: string;
  readonly limitBytes?: number;
  readonly signal?: AbortSignal;
}

export interface ArtifactOptions {
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
  /** The newest durable state. NotFound when there is none. */
  get<T extends KubeObject = KubeObject>(ref: Ref, options?: { readonly signal?: AbortSignal }): Promise<Stored<T>>;
  /** A state of the whole collection at one revision, ordered by namespace and name. */
  list<T extends KubeObject = KubeObject>(type: ResourceType, options?: ListOptions): Promise<ObjectList<Stored<T>>>;
  /** Ends when the server ends it; throws ApiError (`isGone` when the revision is compacted); returns when the signal aborts. */
  watch<T extends KubeObject = KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Stores a new object, under `name` or a new name beginning with `generateName`. AlreadyExists when the name is taken. A given status is dropped. */
  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /**
   * Stores new objects of one kind in one durable write: all of them or, when one is refused, none; then it rejects with the first
   * refusal. Absent where every object takes a request of its own. Mirrors show the objects when the server tells of them, not at
   * once: this is for records that nobody who writes them reads, such as Events.
   */
  createMany?(type: ResourceType, objects: readonly KubeObject[], options?: WriteOptions): Promise<void>;
  /** Replaces everything but the status. Conflict when the resourceVersion is not the newest. No change, no new version. */
  update<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /** Replaces the status and nothing else; conditions as for `update`. */
  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /**
   * Replaces the object and its status in one durable write, of which nobody sees a half; conditions as for `update`. Absent where the two
   * are requests of their own: then whoever needs both writes first what the other one counts on.
   */
  updateWhole?<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /** Changes the newest state; conflicts only when the patch names a resourceVersion. `status` is the subresource that is used. */
  patch<T extends KubeObject = KubeObject>(
    ref: Ref,
    patch: Patch,
    options?: WriteOptions & { readonly subresource?: string },
  ): Promise<Stored<T>>;
  /** Answers with the object while it is still terminating, or with the Status of its removal. */
  delete(ref: Ref, options?: DeleteOptions): Promise<KubeObject | Status>;
  /**
   * Deletes every object the selectors find, one after another: not atomic. Servers take it for one namespace only, or for kinds without
   * namespaces.
   */
  deleteCollection(type: ResourceType, options?: ListOptions & DeleteOptions): Promise<void>;
  /** The log of a Pod's container as it was written. Ends with the log, or with the container when followed. */
  logs(ref: Ref, options?: LogOptions): AsyncIterable<Uint8Array>;
  /** The bytes of an artifact that the object's status mentions, as they are stored. Refused before the first chunk. */
  artifact(ref: Ref, digest: string, options?: ArtifactOptions): AsyncIterable<Uint8Array>;
  /** How a kind is addressed, from discovery; undefined when the server does not serve it. Cached until a miss. */
  resourceType(apiVersion: string, kind: string): Promise<ResourceType | undefined>;
  /** All served kinds. */
  resourceTypes(): Promise<readonly ResourceType[]>;
  /** Any other GET (`/version`, `/readyz`, `/openapi/v3`): the body as text. `accept` is the media type asked for. */
  raw(path: string, options?: { readonly signal?: AbortSignal; readonly accept?: string }): Promise<string>;
  /** Ends watches and connections; the client is of no use afterwards. */
  close(): Promise<void>;
}
