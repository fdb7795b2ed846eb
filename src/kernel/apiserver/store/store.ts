import type { JsonObject } from "#lib/base/index.ts";

/** Names one stored object. Core group and cluster scope are empty strings. */
export interface StoreKey {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Collection {
  readonly group: string;
  readonly resource: string;
}

/** Immutable and shared. `bytes` is the final JSON; `object()` is frozen, parsed on demand. */
export interface Entry {
  readonly key: StoreKey;
  readonly uid: string;
  readonly createRevision: number;
  readonly revision: number;
  readonly bytes: Buffer;
  readonly labels: Readonly<Record<string, string>>;
  readonly owners: readonly string[];
  /** RFC 3339; empty when the object has none. */
  readonly created: string;
  readonly terminating: boolean;
  /** Given by the writer and compared by identity; undefined for an entry read from the disk. */
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

/** Synchronous. Reads see the head, including writes not yet on disk. */
export interface Transaction {
  head(key: StoreKey): Entry | undefined;
  /** The heads of a collection or namespace, unordered. O(collection). */
  heads(collection: Collection, namespace?: string): Iterable<Entry>;
  /** The store owns the object and replaces its resourceVersion. `prunedBy` is kept with the entry. */
  put(key: StoreKey, object: JsonObject, prunedBy?: object): Entry;
  /** Queues the removal; watchers see `last`, or the head. */
  remove(key: StoreKey, last?: JsonObject): Entry;
}

/** Part of a collection at one revision. `next` is absent on the last page. */
export interface Page {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly next?: { readonly namespace: string; readonly name: string };
  readonly remaining: number;
}

export interface PageRequest {
  readonly namespace?: string;
  /** Defaults to the published revision. Below the compacted revision: throws `revision-compacted`. */
  readonly revision?: number;
  readonly limit?: number;
  readonly after?: { readonly namespace: string; readonly name: string };
}

export interface Subscription {
  close(): void;
}

/** Reads show only what is durable; writes go through a synchronous critical section and a group commit. */
export interface Store {
  /** Last published revision. */
  readonly revision: number;
  readonly compactedRevision: number;
  readonly clusterUid: string;
  /** Why writes are refused now, if they are. */
  readonly failure: Error | undefined;
  get(key: StoreKey): Entry | undefined;
  /** An earlier revision costs a microsecond per later event. */
  page(collection: Collection, request: PageRequest): Page;
  eventsAfter(collection: Collection, revision: number): number;
  /** The first `limit` of those events. Throws `revision-compacted` when some are no longer retained. */
  missed(collection: Collection, revision: number, limit: number): readonly StoreEvent[];
  count(collection: Collection, namespace?: string): number;
  collections(): readonly Collection[];
  byUid(uid: string): Entry | undefined;
  dependants(uid: string): readonly Entry[];
  /** Runs `work` on the head; resolves when everything it wrote and saw is durable. Nothing is written if it throws. */
  write<T>(work: (transaction: Transaction) => T): Promise<T>;
  /** Delivers retained events first; throws `revision-compacted` if too old. `deliver` must not block or throw. */
  subscribe(
    collection: Collection,
    from: number,
    deliver: (events: readonly StoreEvent[], revision: number) => void,
  ): Subscription;
  /** Like subscribe, for every collection, from now on. */
  subscribeAll(deliver: (events: readonly StoreEvent[]) => void): Subscription;
  /** Published objects with `value` in one of the store's indexes, which the first call builds. */
  indexed(index: string, value: string): readonly Entry[];
  reached(revision: number, signal: AbortSignal): Promise<void>;
  /** Small records that are no API objects; durable when resolved. */
  system: {
    get(key: string): Buffer | undefined;
    put(key: string, value: Buffer): Promise<void>;
    remove(key: string): Promise<void>;
  };
  stats(): StoreStats;
  /** Refuses new writes, waits for those under way and closes the disk. Idempotent. */
  close(): Promise<void>;
}

/** Counts since the store was opened, and current sizes. */
export interface StoreStats {
  readonly revision: number;
  readonly compacted: number;
  readonly objects: number;
  /** JSON bytes of all objects. */
  readonly bytes: number;
  readonly ringEvents: number;
  readonly ringBytes: number;
  readonly cacheBytes: number;
  readonly commits: number;
  /** Object writes of all commits. */
  readonly writes: number;
  readonly lastBatch: number;
  /** Commits that took at most `upTo` seconds, cumulative as in Prometheus; the last has no limit. */
  readonly commitSeconds: readonly { readonly upTo: number; readonly count: number }[];
  readonly commitSecondsSum: number;
  readonly failedCommits: number;
  readonly redoBytes: number;
  readonly checkpoints: number;
  readonly compactions: number;
  readonly forcedCompactions: number;
}
