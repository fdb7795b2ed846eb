import type { JsonObject } from "#lib/base/index.ts";

/** Names one stored object. Core group and cluster scope are empty strings. */
export interface StoreKey {
  readonly group: string;
  /** The plural, lower case. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Names a collection: all objects of one group and resource. */
export interface Collection {
  readonly group: string;
  readonly resource: string;
}

/**
 * One revision of one object. Immutable and shared. `bytes` is the final JSON, `metadata.resourceVersion` included, so a GET
 * or a list copies it; `object()` is the parsed, deep-frozen form, kept in a bounded cache.
 */
export interface Entry {
  readonly key: StoreKey;
  readonly uid: string;
  readonly createRevision: number;
  readonly revision: number;
  readonly bytes: Buffer;
  readonly labels: Readonly<Record<string, string>>;
  /** uids of the owners. */
  readonly owners: readonly string[];
  /** RFC 3339, as the object says it; empty when it has none. */
  readonly created: string;
  /** Has a deletionTimestamp. */
  readonly terminating: boolean;
  /** What its writer said had pruned it, compared by identity; undefined for an entry read from the disk. */
  readonly prunedBy: object | undefined;
  object(): JsonObject;
}

/** A published change. For a delete `entry` is the last state, under the revision of the deletion. */
export interface StoreEvent {
  readonly type: "add" | "modify" | "delete";
  readonly revision: number;
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}

/**
 * The critical section's view: reads see the head (writes still on their way to disk included), writes are queued in order.
 * Valid only during the synchronous call it was made for.
 */
export interface Transaction {
  head(key: StoreKey): Entry | undefined;
  /** The heads of a collection, or of one namespace of it, in no particular order. Linear in the size of the collection. */
  heads(collection: Collection, namespace?: string): Iterable<Entry>;
  /**
   * Queues the object as a new revision and returns its entry; a resourceVersion it has is replaced. The object belongs to the
   * store from now on. `prunedBy` is kept with the entry as it is.
   */
  put(key: StoreKey, object: JsonObject, prunedBy?: object): Entry;
  /** Queues the removal; `last` is the final state shown to watchers, the head when absent. */
  remove(key: StoreKey, last?: JsonObject): Entry;
}

/** Part of a collection at one revision. `next` is where the following page starts, absent on the last. */
export interface Page {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly next?: { readonly namespace: string; readonly name: string };
  readonly remaining: number;
}

export interface PageRequest {
  readonly namespace?: string;
  /** Absent: the current published revision. Below the compacted revision: throws `revision-compacted`. */
  readonly revision?: number;
  readonly limit?: number;
  /** Strictly after this object. */
  readonly after?: { readonly namespace: string; readonly name: string };
}

/** Gets every published event of a collection after a revision, in order, all events of one commit at once. */
export interface Subscription {
  close(): void;
}

/**
 * The durable truth. Reads come from memory; writes go through one synchronous critical section and a group commit. What a
 * read, a page or an event shows has reached the disk.
 */
export interface Store {
  /** Last published revision. */
  readonly revision: number;
  readonly compactedRevision: number;
  readonly clusterUid: string;
  /** Why writes are refused now, absent when they are not. */
  readonly failure: Error | undefined;
  get(key: StoreKey): Entry | undefined;
  /** Costs a microsecond for each later event when it is of an earlier revision. */
  page(collection: Collection, request: PageRequest): Page;
  /** Number of retained events of the collection after a revision: O(log events). */
  eventsAfter(collection: Collection, revision: number): number;
  /** The first `limit` of those events, oldest first. Throws `revision-compacted` when one of them is not retained any more. */
  missed(collection: Collection, revision: number, limit: number): readonly StoreEvent[];
  /** Number of objects in the collection (and namespace). */
  count(collection: Collection, namespace?: string): number;
  /** All collections that hold an object. */
  collections(): readonly Collection[];
  byUid(uid: string): Entry | undefined;
  /** Published objects that name `uid` as an owner. */
  dependants(uid: string): readonly Entry[];
  /**
   * Runs `work` synchronously on the head and resolves with its result when all that it wrote is durable and published. When it
   * throws, nothing is written and the promise rejects with what it threw. When it writes nothing, it ends as soon as the
   * state it saw is durable.
   */
  write<T>(work: (transaction: Transaction) => T): Promise<T>;
  /**
   * Calls `deliver` with the events of `collection` after `from`, retained ones first (in the same turn), then each commit's
   * batch. Throws `revision-compacted` when `from` is below the compacted revision. `deliver` must not block or throw.
   */
  subscribe(
    collection: Collection,
    from: number,
    deliver: (events: readonly StoreEvent[], revision: number) => void,
  ): Subscription;
  /** Like subscribe, for every collection, from now on. */
  subscribeAll(deliver: (events: readonly StoreEvent[]) => void): Subscription;
  /** Published objects with `value` in one of the indexes the store was opened with. The first question builds the index. */
  indexed(index: string, value: string): readonly Entry[];
  /** Resolves when revision >= `revision`, or rejects when the signal aborts. */
  reached(revision: number, signal: AbortSignal): Promise<void>;
  /** Small records that are not API objects (token hashes, checkpoints), durable when resolved. */
  system: {
    get(key: string): Buffer | undefined;
    put(key: string, value: Buffer): Promise<void>;
    remove(key: string): Promise<void>;
  };
  /** Numbers for metrics and tests; a copy. */
  stats(): StoreStats;
  /** Refuses new writes, waits for those under way, and lets go of the disk. Twice is harmless. */
  close(): Promise<void>;
}

/** Counts since the store was opened, and sizes at this moment. */
export interface StoreStats {
  readonly revision: number;
  readonly compacted: number;
  readonly objects: number;
  /** JSON bytes of all objects. */
  readonly bytes: number;
  readonly ringEvents: number;
  readonly ringBytes: number;
  /** Reckoned bytes of parsed objects in the cache. */
  readonly cacheBytes: number;
  readonly commits: number;
  /** Object writes of all commits; divided by `commits` it is the mean batch. */
  readonly writes: number;
  readonly lastBatch: number;
  /** Number of commits that took at most `upTo` seconds, cumulative as in Prometheus; the last has no limit. */
  readonly commitSeconds: readonly { readonly upTo: number; readonly count: number }[];
  readonly commitSecondsSum: number;
  readonly failedCommits: number;
  /** Bytes that a start would have to replay. */
  readonly redoBytes: number;
  readonly checkpoints: number;
  readonly compactions: number;
  readonly forcedCompactions: number;
}
