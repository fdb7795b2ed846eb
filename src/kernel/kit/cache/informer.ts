import { type Clock, type Logger, type Millis, messageOf, type Random, deferred, orAborted } from "#lib/base/index.ts";
import { type ApiError, type KubeObject, keyOf, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { ApiClient, WatchEvent } from "../client/api-client.ts";
import { type LabelSelector, matchesLabels, parseLabelSelector } from "../client/label-selector.ts";
import { isAtLeast } from "../client/resource-version.ts";
import { type IndexFunction, IndexedStore, type IndexOrder } from "./indexed-store.ts";
import { OwnWrites } from "./own-writes.ts";
import { Reflector, type ReflectorSink, type Scope } from "./reflector.ts";

/** Called for every change in the server's order. Must only enqueue a key: exceptions are logged and dropped. */
export interface InformerHandler<T extends KubeObject = KubeObject> {
  /** `isInitial`: the object existed before the handler. */
  add?(object: Stored<T>, about: { readonly isInitial: boolean }): void;
  /** A resync passes the same object twice. */
  update?(old: Stored<T>, object: Stored<T>, about: { readonly isResync: boolean }): void;
  /** `isFinalStateUnknown`: the deletion was missed, `object` is the last state seen. */
  delete?(object: Stored<T>, about: { readonly isFinalStateUnknown: boolean }): void;
}

/**
 * Reads of a mirrored collection. Objects are frozen and shared; keys are `namespace/name`, or `name` for
 * cluster-scoped kinds. Results are valid until the next turn of the event loop. Everything is empty before the first
 * sync.
 */
export interface Lister<T extends KubeObject = KubeObject> {
  get(key: string): Stored<T> | undefined;
  list(options?: { readonly namespace?: string; readonly labels?: LabelSelector }): readonly Stored<T>[];
  /** Objects whose index function gives `value`. Throws for an unknown index. */
  byIndex(index: string, value: string): readonly Stored<T>[];
}

export interface InformerOptions {
  readonly client: ApiClient;
  readonly type: ResourceType;
  readonly scope?: Scope;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
}

/** A removed subscription may still be in a list that is being iterated over. */
interface Subscription<T extends KubeObject> {
  readonly handler: InformerHandler<T>;
  isActive: boolean;
  cancelResync: () => void;
}

/**
 * A shared in-memory mirror of one collection. Reads show the server's state as far as it is known, plus own writes at
 * once (`noteWritten`). Handlers get every change of the server once, in order, synchronously. Own deletions, and
 * writes that move an object out of the scope, show with their events only.
 */
export class Informer<T extends KubeObject = KubeObject> implements Lister<T> {
  readonly type: ResourceType;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Logger;
  readonly #scope: Scope;
  readonly #labels: LabelSelector;
  readonly #store = new IndexedStore<T>();
  readonly #own = new OwnWrites<T>();
  readonly #orders = new Map<string, IndexOrder<T>>();
  readonly #reflector: Reflector<T>;
  /** Copied on every change: a handler that is added during a notification must not get it again. */
  #subscriptions: readonly Subscription<T>[] = [];
  readonly #onSynced = new Set<() => void>();
  readonly #onRefused = new Set<(why: ApiError) => void>();
  #refusal: ApiError | undefined;
  #revision: string | undefined;

  constructor(options: InformerOptions) {
    this.type = options.type;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#log = options.log.with({ resource: options.type.plural });
    const { namespace = "", ...scope } = options.scope ?? {};
    this.#scope = namespace === "" ? scope : { ...scope, namespace };
    const labels = parseLabelSelector(this.#scope.labelSelector ?? "");
    if (!labels.ok) throw new Error(`labelSelector: ${labels.error}`);
    this.#labels = labels.value;
    this.#reflector = new Reflector<T>({ ...options, scope: this.#scope, sink: this.#sink() });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  hasSynced(): boolean {
    return this.#revision !== undefined;
  }

  /** The server's refusal while nothing could be read yet. */
  refusal(): ApiError | undefined {
    return this.hasSynced() ? undefined : this.#refusal;
  }

  /** Like `synced`, but rejects with the server's refusal if there is one. */
  async readable(signal: AbortSignal): Promise<void> {
    const refused = this.refusal();
    if (refused !== undefined) throw refused;
    const answered = new AbortController();
    const onRefused = (why: ApiError): void => answered.abort(why);
    this.#onRefused.add(onRefused);
    try {
      await this.synced(AbortSignal.any([signal, answered.signal]));
    } finally {
      this.#onRefused.delete(onRefused);
    }
  }

  /** Resolves once the whole collection was read; rejects with the signal's reason. */
  async synced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.hasSynced()) return;
    const done = deferred<void>();
    this.#onSynced.add(done.resolve);
    await orAborted(done.promise, signal).finally(() => this.#onSynced.delete(done.resolve));
  }

  /** Adds an index, with the order of `inOrder`. After the first sync it costs one pass over all objects. */
  addIndex(name: string, valuesOf: IndexFunction<T>, order?: IndexOrder<T>): void {
    this.#store.addIndex(name, valuesOf, order);
    if (order === undefined) return;
    this.#own.addIndex(name, valuesOf, order);
    this.#orders.set(name, order);
  }

  /** Calls the handler for all objects and changes until cancelled. `resyncEvery` repeats `update` for all. */
  addHandler(handler: InformerHandler<T>, options: { readonly resyncEvery?: Millis } = {}): () => void {
    const subscription: Subscription<T> = { handler, isActive: true, cancelResync: () => undefined };
    this.#subscriptions = [...this.#subscriptions, subscription];
    for (const [, object] of this.#store.entries())
      this.#tell([subscription], (h) => h.add?.(object, { isInitial: true }));
    if (options.resyncEvery !== undefined) this.#scheduleResync(subscription, options.resyncEvery);
    return () => {
      subscription.isActive = false;
      this.#subscriptions = this.#subscriptions.filter((other) => other !== subscription);
      subscription.cancelResync();
    };
  }

  get(key: string): Stored<T> | undefined {
    return this.#own.get(key, this.#revision) ?? this.#store.get(key);
  }

  list(options: { readonly namespace?: string; readonly labels?: LabelSelector } = {}): readonly Stored<T>[] {
    const { namespace = "", labels = [] } = options;
    const found: Stored<T>[] = [];
    const take = (object: Stored<T>): void => {
      if (namespace !== "" && object.metadata.namespace !== namespace) return;
      if (matchesLabels(labels, object.metadata.labels)) found.push(object);
    };
    for (const [key, object] of this.#store.entries()) if (!this.#own.has(key, this.#revision)) take(object);
    for (const object of this.#own.all(this.#revision)) take(object);
    return found;
  }

  byIndex(index: string, value: string): readonly Stored<T>[] {
    const found: Stored<T>[] = [];
    for (const key of this.#store.keysByIndex(index, value)) {
      const object = this.#own.has(key, this.#revision) ? undefined : this.#store.get(key);
      if (object !== undefined) found.push(object);
    }
    if (this.#own.isEmpty) return found;
    const valuesOf = this.#store.indexFunction(index);
    for (const object of this.#own.all(this.#revision)) if (valuesOf(object).includes(value)) found.push(object);
    return found;
  }

  /** Like `byIndex`, lazily and in the order of the index. Throws for an index without an order. */
  *inOrder(index: string, value: string): Generator<Stored<T>> {
    const order = this.#orders.get(index);
    if (order === undefined) throw new Error(`the index "${index}" has no order`);
    // Merges two disjoint lists of the same order.
    const own = this.#own.inOrder(index, value, this.#revision);
    let next = own.next();
    for (const key of this.#store.keysByIndex(index, value)) {
      const object = this.#own.has(key, this.#revision) ? undefined : this.#store.get(key);
      if (object === undefined) continue;
      for (; next.done !== true && order(next.value, object) < 0; next = own.next()) yield next.value;
      yield object;
    }
    for (; next.done !== true; next = own.next()) yield next.value;
  }

  /** Shows a successful write to reads before its event: no reconciler acts on older state. Handlers wait. */
  noteWritten(object: Stored<T>): void {
    if (this.#revision === undefined || !this.#contains(object)) return;
    this.#own.note(keyOf(object.metadata), object, this.#revision);
  }

  #contains(object: Stored<T>): boolean {
    const { namespace, fieldSelector } = this.#scope;
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    // Only the server knows its selectable fields: objects it has shown are inside.
    if (fieldSelector !== undefined && this.#store.get(keyOf(object.metadata)) === undefined) return false;
    return matchesLabels(this.#labels, object.metadata.labels);
  }

  #sink(): ReflectorSink<T> {
    return {
      replace: (objects, revision) => this.#replace(objects, revision),
      apply: (event) => this.#apply(event),
      passed: (revision) => {
        if (this.#revision !== undefined && isAtLeast(this.#revision, revision)) return;
        this.#revision = revision;
        this.#own.settle(revision);
      },
      refused: (why) => {
        this.#refusal = why;
        for (const tell of this.#onRefused) tell(why);
      },
    };
  }

  /** Replaces the whole state; missing objects were deleted unnoticed. */
  #replace(objects: readonly Stored<T>[], revision: string): void {
    const isInitial = !this.hasSynced();
    // A revision that went backwards belongs to a restored server: writes to the old one are lost.
    if (this.#revision !== undefined && !isAtLeast(revision, this.#revision)) this.#own.clear();
    this.#revision = revision;
    this.#own.settle(revision);
    const keys = new Set(objects.map((object) => keyOf(object.metadata)));
    for (const [key, object] of this.#store.entries()) if (!keys.has(key)) this.#remove(key, object, true);
    for (const object of objects) this.#put(object, isInitial);
    for (const done of this.#onSynced) done();
    this.#onSynced.clear();
  }

  #apply(event: WatchEvent<T> & { readonly type: "ADDED" | "MODIFIED" | "DELETED" }): void {
    const { object } = event;
    const { resourceVersion } = object.metadata;
    // Changes come in order: this one was handled already.
    if (this.#revision !== undefined && isAtLeast(this.#revision, resourceVersion)) return;
    this.#revision = resourceVersion;
    this.#own.settle(resourceVersion);
    if (event.type === "DELETED") this.#remove(keyOf(object.metadata), object, false);
    else this.#put(object, false);
  }

  #put(object: Stored<T>, isInitial: boolean): void {
    const key = keyOf(object.metadata);
    const old = this.#store.get(key);
    if (old?.metadata.resourceVersion === object.metadata.resourceVersion && old.metadata.uid === object.metadata.uid)
      return;
    // Another uid: the deletion in between was missed.
    if (old !== undefined && old.metadata.uid !== object.metadata.uid) this.#remove(key, old, true);
    const previous = this.#store.set(key, object);
    this.#tell(this.#subscriptions, (handler) =>
      previous === undefined
        ? handler.add?.(object, { isInitial })
        : handler.update?.(previous, object, { isResync: false }),
    );
  }

  #remove(key: string, last: Stored<T>, isFinalStateUnknown: boolean): void {
    if (this.#store.delete(key) === undefined) return;
    this.#tell(this.#subscriptions, (handler) => handler.delete?.(last, { isFinalStateUnknown }));
  }

  /** A failing handler must not stop the others. */
  #tell(subscriptions: Iterable<Subscription<T>>, call: (handler: InformerHandler<T>) => void): void {
    for (const { handler, isActive } of subscriptions) {
      if (!isActive) continue;
      try {
        call(handler);
      } catch (thrown) {
        this.#log.error("a handler of changes failed", { error: messageOf(thrown) });
      }
    }
  }

  #scheduleResync(subscription: Subscription<T>, every: Millis): void {
    // Spread by a tenth, so that informers do not resync together.
    subscription.cancelResync = this.#clock.after(Math.round(every * (1 + this.#random() / 10)), () => {
      for (const [, object] of this.#store.entries())
        this.#tell([subscription], (handler) => handler.update?.(object, object, { isResync: true }));
      this.#scheduleResync(subscription, every);
    });
  }
}
