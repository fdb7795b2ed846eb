import { type Cancel, type Clock, type Logger, type Millis, toError } from "#lib/base/index.ts";
import { maxKeyBytes } from "./codec.ts";
import { CommitStats } from "./commit-stats.ts";
import { type CommitLimits, Committer, type Failpoints, type WriteGroup } from "./committer.ts";
import { Retention, type RetentionLimits, stepsThrough } from "./compaction.ts";
import type { Disk, SystemChange } from "./disk.ts";
import { commitFailed, isDiskFull, revisionCompacted, storeClosed, storeFailed, storeFull } from "./errors.ts";
import { countNamespace, readPage } from "./pages.ts";
import { Publisher } from "./publisher.ts";
import { Session } from "./session.ts";
import type { StoreState } from "./state.ts";
import type {
  Collection,
  Entry,
  Page,
  PageRequest,
  Store,
  StoreEvent,
  StoreKey,
  StoreStats,
  Subscription,
  Transaction,
} from "./store.ts";

export const probeEveryMs: Millis = 5_000;

/** `loadState` built `state` from `disk`. Both are owned from here on. */
export interface LiveStoreParts {
  readonly state: StoreState;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly log: Logger;
  /** Memory may differ from the broken disk. The server exits 5. */
  readonly onFatal: (error: Error) => void;
  readonly failpoints: Failpoints;
  readonly limits: CommitLimits;
  readonly retention: RetentionLimits;
}

/** Works on any disk, so the durable and the in-memory store cannot differ. */
export class LiveStore implements Store {
  readonly #parts: LiveStoreParts;
  readonly #state: StoreState;
  readonly #committer: Committer;
  readonly #publisher: Publisher;
  readonly #retention: Retention;
  readonly #stats = new CommitStats();
  #compactions = 0;
  #forcedCompactions = 0;
  #compacting: Promise<void> | undefined;
  /** True in a caller's critical section, which must not begin another write. */
  #inSection = false;
  /** Writes are refused while set. A successful probe clears the failure of a full disk only. */
  #failure: Error | undefined;
  /** The disk failed for good; abandon it instead of closing. */
  #isBroken = false;
  #cancelLook: Cancel = () => undefined;
  #cancelProbe: Cancel = () => undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: LiveStoreParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.#publisher = new Publisher(parts.state, parts.log);
    this.#retention = new Retention(parts.retention);
    this.#committer = new Committer({
      disk: parts.disk,
      failpoints: parts.failpoints,
      limits: parts.limits,
      published: () => this.#state,
      publish: (groups, took) => {
        this.#stats.committed(took.writes, (performance.now() - took.since) / 1000);
        this.#publisher.publish(groups);
        if (this.#retention.isOver(this.#state.ring)) this.#compactForced();
      },
      fail: (cause, groups) => this.#commitFailed(cause, groups),
    });
    parts.disk.onFailure((cause) => this.#diskFailed(cause));
    this.#look();
  }

  get revision(): number {
    return this.#state.revision;
  }

  get compactedRevision(): number {
    return this.#state.compacted;
  }

  get clusterUid(): string {
    return this.#state.clusterUid;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  get(key: StoreKey): Entry | undefined {
    return this.#state.image.find(key.group, key.resource)?.get(key.namespace, key.name)?.published;
  }

  /** Throws a plain Error for a future revision: callers wait with `reached` first. */
  page(collection: Collection, request: PageRequest): Page {
    const { revision } = request;
    this.#assertRetained(revision);
    if (revision !== undefined && revision > this.#state.revision) {
      throw new Error(`revision ${revision} is not reached yet, the store is at ${this.#state.revision}`);
    }
    const image = this.#state.image.find(collection.group, collection.resource);
    if (image === undefined) return { entries: [], revision: revision ?? this.#state.revision, remaining: 0 };
    return readPage(image, request, this.#state.revision);
  }

  eventsAfter({ group, resource }: Collection, revision: number): number {
    return this.#state.image.find(group, resource)?.ring.countAfter(revision) ?? 0;
  }

  missed({ group, resource }: Collection, revision: number, limit: number): readonly StoreEvent[] {
    this.#assertRetained(revision);
    return this.#state.image.find(group, resource)?.ring.after(revision, limit) ?? [];
  }

  count(collection: Collection, namespace?: string): number {
    const image = this.#state.image.find(collection.group, collection.resource);
    if (image === undefined) return 0;
    return namespace === undefined ? image.count : countNamespace(image, namespace);
  }

  collections(): readonly Collection[] {
    const held: Collection[] = [];
    for (const image of this.#state.image.collections()) if (image.count > 0) held.push(image.collection);
    return held;
  }

  byUid(uid: string): Entry | undefined {
    return this.#state.image.byUid(uid);
  }

  dependants(uid: string): readonly Entry[] {
    return this.#state.image.dependants(uid);
  }

  indexed(index: string, value: string): readonly Entry[] {
    return this.#state.image.indexed(index, value);
  }

  /** Of two writers with one revision only one wins. Answers and refusals wait until what was seen is durable. */
  write<T>(work: (transaction: Transaction) => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const session = new Session(this.#state);
    let result: T;
    try {
      result = this.#runSection(work, session);
    } catch (thrown) {
      session.rollback();
      if (session.seen <= this.#state.revision) return Promise.reject(thrown);
      // A refusal also depends on what it saw; waiting keeps retrying callers from spinning.
      return this.#enqueue([], [], undefined).then(() => Promise.reject(thrown));
    }
    if (session.writes.length > 0) return this.#enqueue(session.writes, [], result);
    if (session.seen <= this.#state.revision) return Promise.resolve(result);
    // Waits for what it has seen, and is refused with it.
    return this.#enqueue([], [], result);
  }

  subscribe(
    collection: Collection,
    from: number,
    deliver: (events: readonly StoreEvent[], revision: number) => void,
  ): Subscription {
    this.#assertRetained(from);
    return this.#publisher.subscribe(collection, from, deliver);
  }

  subscribeAll(deliver: (events: readonly StoreEvent[]) => void): Subscription {
    return this.#publisher.subscribeAll(deliver);
  }

  reached(revision: number, signal: AbortSignal): Promise<void> {
    return this.#publisher.reached(revision, signal);
  }

  /** Copies the value; keeps call order per key. */
  readonly system = {
    get: (key: string): Buffer | undefined => this.#state.system.get(key),
    put: (key: string, value: Buffer): Promise<void> => this.#writeSystem({ key, value: Buffer.from(value) }),
    remove: (key: string): Promise<void> => this.#writeSystem({ key, value: undefined }),
  };

  stats(): StoreStats {
    const { image, ring, cache, revision, compacted } = this.#state;
    return {
      revision,
      compacted,
      objects: image.objects,
      bytes: image.bytes,
      ringEvents: ring.length,
      ringBytes: ring.bytes,
      cacheBytes: cache.bytes,
      ...this.#stats.snapshot(),
      ...this.#parts.disk.figures(),
      compactions: this.#compactions,
      forcedCompactions: this.#forcedCompactions,
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Refuses new writes; commits queued ones. */
  async #close(): Promise<void> {
    this.#failure ??= storeClosed();
    this.#cancelLook();
    this.#cancelProbe();
    await this.#committer.drained();
    // A failed commit may hold a lock that closing would wait for.
    await (this.#isBroken ? this.#parts.disk.abandon() : this.#parts.disk.close());
  }

  #refusal(): Error | undefined {
    if (this.#inSection) return new Error("a store write was begun inside another one's critical section");
    return this.#failure ?? this.#committer.refusal;
  }

  #runSection<T>(work: (transaction: Transaction) => T, session: Session): T {
    this.#inSection = true;
    try {
      const result = work(session);
      if (result instanceof Promise) throw new Error("the work of a store write must be synchronous");
      return result;
    } finally {
      this.#inSection = false;
      session.end();
    }
  }

  /** An empty group also waits for what it has seen. */
  #enqueue<T>(writes: WriteGroup["writes"], system: readonly SystemChange[], result: T): Promise<T> {
    let bytes = 0;
    for (const write of writes) bytes += write.record.bytes.length;
    for (const change of system) bytes += change.value?.length ?? 0;
    return new Promise((resolve, reject) => {
      this.#committer.enqueue({ writes, system, bytes, answer: () => resolve(result), refuse: reject });
    });
  }

  /** Ordered and durable like object writes, but without revision and event. */
  #writeSystem(change: SystemChange): Promise<void> {
    const keyBytes = Buffer.byteLength(change.key);
    if (keyBytes === 0 || keyBytes > maxKeyBytes) {
      return Promise.reject(new Error(`a system record's key must have 1 to ${maxKeyBytes} bytes, not ${keyBytes}`));
    }
    const refusal = this.#refusal();
    return refusal === undefined ? this.#enqueue([], [change], undefined) : Promise.reject(refusal);
  }

  #assertRetained(revision: number | undefined): void {
    if (revision !== undefined && revision < this.#state.compacted) {
      throw revisionCompacted(revision, this.#state.compacted);
    }
  }

  /** Resets memory to the published state and refuses queued writes, which were built on lost ones. */
  #commitFailed(cause: Error, groups: readonly WriteGroup[]): void {
    this.#stats.failed();
    this.#state.head = this.#state.revision;
    for (const group of groups) {
      for (const { slot } of group.writes) {
        slot.head = slot.published;
        slot.headRevision = 0;
        if (slot.head === undefined) slot.collection.slots.delete(slot.id);
      }
    }
    this.#diskFailed(cause);
    const error = commitFailed(cause);
    for (const group of groups) group.refuse(error);
  }

  /** Only a full disk passes; other failures may leave the disk in an unknown state. */
  #diskFailed(cause: Error): void {
    if (isDiskFull(cause)) {
      this.#parts.log.error("the store is read-only: its disk is full", { error: cause.message });
      this.#failure ??= storeFull(cause);
      this.#probeLater();
    } else {
      this.#parts.log.error("the store's disk failed", { error: cause.message });
      this.#cancelProbe();
      this.#cancelLook();
      if (this.#isBroken) return;
      this.#isBroken = true;
      this.#failure = storeFailed(cause);
      this.#parts.onFatal(this.#failure);
    }
  }

  #probeLater(): void {
    this.#cancelProbe();
    if (this.#closed !== undefined) return;
    this.#cancelProbe = this.#parts.clock.after(probeEveryMs, () => void this.#probe());
  }

  /** Runs between batches. */
  async #probe(): Promise<void> {
    try {
      await this.#committer.chore(async () => {
        await this.#parts.failpoints.beforeProbe?.();
        await this.#parts.disk.probe();
      });
      if (this.#closed === undefined) this.#failure = undefined;
      this.#parts.log.info("the store takes writes again");
    } catch (thrown) {
      this.#diskFailed(toError(thrown));
    }
  }

  /** Counts rounds independently of slow compactions. */
  #look(): void {
    this.#cancelLook = this.#parts.clock.after(this.#retention.everyMs, () => {
      this.#look();
      this.#compact(this.#retention.look(this.#state));
    });
  }

  /** Counted: it may end watches and lists earlier than promised. */
  #compactForced(): void {
    if (this.#compacting !== undefined || this.#failure !== undefined) return;
    this.#forcedCompactions++;
    this.#compact(this.#retention.forced(this.#state));
  }

  #compact(through: number): void {
    if (this.#compacting !== undefined || this.#failure !== undefined || through <= this.#state.compacted) return;
    this.#compacting = this.#compactThrough(through)
      .catch((thrown: unknown) => this.#diskFailed(toError(thrown)))
      .finally(() => {
        this.#compacting = undefined;
      });
  }

  /** Writes run between steps. */
  async #compactThrough(through: number): Promise<void> {
    for (const step of stepsThrough(this.#state, through)) {
      await this.#committer.chore(() => this.#compactStep(step));
      if (this.#failure !== undefined) return;
    }
    this.#compactions++;
  }

  // Runs between batches: everything on disk is published.
  async #compactStep(through: number): Promise<void> {
    const { state, disk, failpoints } = this.#parts;
    const doomed = state.ring.through(through);
    await failpoints.beforeCompaction?.();
    await disk.compact(through);
    for (const { entry } of doomed) {
      if (this.get(entry.key) === entry) entry.moveOut();
      else entry.retire();
    }
    state.compacted = through;
    state.ring.dropThrough(through);
    for (const image of state.image.collections()) image.ring.dropThrough(through);
  }
}
