import type { JsonValue, Millis } from "#lib/base/index.ts";
import type { KubeObject, ObjectList, ResourceType, Status, Stored } from "#kernel/model/index.ts";

// The contract between controllers and any Kubernetes API, tested by `client.contract.ts`.

export interface Ref {
  readonly type: ResourceType;
  readonly namespace?: string;
  readonly name: string;
}

/** Selectors have Kubernetes' text form; unreadable ones are refused as BadRequest. Empty texts count as absent. */
export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Absent: the newest state. `0`: any state. Else at least this one, or exactly it. */
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  /** With `limit` one page is returned; without it the client reads all pages. */
  readonly limit?: number;
  /** Token of the previous page; other options must be those of the first. Refused as gone if too old. */
  readonly continue?: string;
  readonly signal?: AbortSignal;
}

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Changes after this revision; absent: the present objects as ADDED, then changes. */
  readonly resourceVersion?: string;
  /** Occasional events with only a revision, so that a quiet watch can be resumed. */
  readonly allowBookmarks?: boolean;
  /** WatchList: present objects, then a bookmark annotated `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean;
  readonly resourceVersionMatch?: "NotOlderThan";
  /** The server ends the watch after this long. */
  readonly timeout?: Millis;
  readonly signal: AbortSignal;
}

/**
 * One change. Events come in the order of their revisions, each once. An object that begins to match the selector is
 * ADDED, one that stops is DELETED. DELETED carries the last state with the revision of the deletion.
 */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: Stored<T> }
  | { readonly type: "BOOKMARK"; readonly object: KubeObject };

export interface WriteOptions {
  /** Owner of the written fields, at most 128 characters; default: the user agent's name. */
  readonly fieldManager?: string;
  /** Checks and answers as if done, without storing anything. */
  readonly dryRun?: boolean;
  /** Unknown fields are refused, warned about (the default), or dropped. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  readonly signal?: AbortSignal;
}

/** RFC 6902, RFC 7386, strategic merge (built-in kinds), or server-side apply. A resourceVersion is a precondition. */
export type Patch =
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: "merge"; readonly body: JsonValue }
  | { readonly type: "strategic"; readonly body: JsonValue }
  /** Owned by `fieldManager`, which is required. Conflicts if others own changed fields, unless `force`. */
  | { readonly type: "apply"; readonly body: JsonValue; readonly force?: boolean };

export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

export interface DeleteOptions {
  /** Dependents are deleted first, later (the default), or not at all. */
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  /** The grace of a Pod in seconds; 0 removes it at once. */
  readonly gracePeriodSeconds?: number;
  /** Conflicts if the object is another one. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** As in Kubernetes. */
export interface LogOptions {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  /** RFC 3339; servers may round to seconds. Not with `sinceSeconds`. */
  readonly sinceTime?: string;
  readonly limitBytes?: number;
  /** See `LogRequest`; only where `numbersLines`. */
  readonly fromLine?: number;
  readonly numbered?: boolean;
  readonly signal?: AbortSignal;
}

export interface ArtifactOptions {
  readonly signal?: AbortSignal;
}

/**
 * Talks to a Kubernetes API, embedded or real. Returned objects are deep-frozen and keep unknown fields. Every refusal
 * is an `ApiError`; an unreachable server is a `SlipwayError`. A write that resolves is durable.
 */
export interface ApiClient {
  /** The newest durable state; NotFound if there is none. */
  get<T extends KubeObject = KubeObject>(ref: Ref, options?: { readonly signal?: AbortSignal }): Promise<Stored<T>>;
  /** The whole collection at one revision, ordered by namespace and name. */
  list<T extends KubeObject = KubeObject>(type: ResourceType, options?: ListOptions): Promise<ObjectList<Stored<T>>>;
  /** Ends when the server ends it or the signal aborts; throws ApiError (`isGone` if the revision is compacted). */
  watch<T extends KubeObject = KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Stores an object as `name` or by `generateName`; AlreadyExists if taken. A given status is dropped. */
  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /**
   * Stores new objects of one kind in one durable write, all or none; rejects with the first refusal. Absent if each
   * object takes a request. Mirrors show the objects with their events: this is for records such as Events.
   */
  createMany?(type: ResourceType, objects: readonly KubeObject[], options?: WriteOptions): Promise<void>;
  /** Replaces all but the status. Conflicts with a newer version. An unchanged object gets no new version. */
  update<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /** Replaces only the status; otherwise like `update`. */
  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /** Replaces object and status in one durable write, like `update`. Absent if these are separate requests. */
  updateWhole?<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /** Changes the newest state; conflicts only if the patch has a resourceVersion. `subresource`: `status`, …. */
  patch<T extends KubeObject = KubeObject>(
    ref: Ref,
    patch: Patch,
    options?: WriteOptions & { readonly subresource?: string },
  ): Promise<Stored<T>>;
  /** Returns the terminating object, or the Status of its removal. */
  delete(ref: Ref, options?: DeleteOptions): Promise<KubeObject | Status>;
  /** Deletes all selected objects, not atomically. Servers accept one namespace at a time. */
  deleteCollection(type: ResourceType, options?: ListOptions & DeleteOptions): Promise<void>;
  /** The log of a Pod's container. Ends with the log, or with the container when followed. */
  logs(ref: Ref, options?: LogOptions): AsyncIterable<Uint8Array>;
  /** Whether logs of the kind can be read by numbers of lines, which Kubernetes' API does not know. */
  numbersLines?(type: ResourceType): boolean;
  /** The stored bytes of an artifact in the object's status. Refused before the first chunk. */
  artifact(ref: Ref, digest: string, options?: ArtifactOptions): AsyncIterable<Uint8Array>;
  /** From discovery, cached until a miss; undefined if the server does not serve the kind. */
  resourceType(apiVersion: string, kind: string): Promise<ResourceType | undefined>;
  resourceTypes(): Promise<readonly ResourceType[]>;
  /** The body of any other GET (`/version`, `/readyz`, `/openapi/v3`). */
  raw(path: string, options?: { readonly signal?: AbortSignal; readonly accept?: string }): Promise<string>;
  /** Ends watches and connections for good. */
  close(): Promise<void>;
}
