import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { isAtLeast } from "../client/resource-version.ts";
import { type IndexFunction, IndexedStore, type IndexOrder } from "./indexed-store.ts";

/** Further unconfirmed writes are forgotten: reads are then only as fresh as events. */
const maxPending = 10_000;

/** Own writes whose events have not arrived. Each is valid until the stream of events reaches its revision. */
export class OwnWrites<T extends KubeObject> {
  // In order of noting, which is nearly that of revisions; `settle` removes from the front, reads check each write.
  readonly #objects = new IndexedStore<T>();

  get isEmpty(): boolean {
    return this.#objects.size === 0;
  }

  /** The own write of this key that the stream, now at `seen`, has not reached. */
  get(key: string, seen: string | undefined): Stored<T> | undefined {
    if (this.#objects.size === 0) return undefined;
    const object = this.#objects.get(key);
    return object !== undefined && isPending(object, seen) ? object : undefined;
  }

  has(key: string, seen: string | undefined): boolean {
    return this.get(key, seen) !== undefined;
  }

  addIndex(name: string, valuesOf: IndexFunction<T>, order: IndexOrder<T>): void {
    this.#objects.addIndex(name, valuesOf, order);
  }

  *inOrder(name: string, value: string, seen: string | undefined): Generator<Stored<T>> {
    for (const key of this.#objects.keysByIndex(name, value)) {
      const object = this.get(key, seen);
      if (object !== undefined) yield object;
    }
  }

  *all(seen: string | undefined): Generator<Stored<T>> {
    for (const [, object] of this.#objects.entries()) if (isPending(object, seen)) yield object;
  }

  /** An older write never replaces a newer one. */
  note(key: string, object: Stored<T>, seen: string): void {
    if (!isPending(object, seen) || isGoneWithThisWrite(object)) return;
    const known = this.#objects.get(key);
    if (known !== undefined && isAtLeast(known.metadata.resourceVersion, object.metadata.resourceVersion)) return;
    this.#objects.delete(key);
    this.#objects.set(key, object);
    if (this.#objects.size > maxPending) this.#dropOldest();
  }

  settle(seen: string): void {
    for (const [key, object] of this.#objects.entries()) {
      if (isPending(object, seen)) return;
      this.#objects.delete(key);
    }
  }

  clear(): void {
    for (const key of this.#objects.keys()) this.#objects.delete(key);
  }

  #dropOldest(): void {
    for (const key of this.#objects.keys()) {
      this.#objects.delete(key);
      return;
    }
  }
}

/** Revisions that cannot be compared count as pending until they are equal. */
const isPending = (object: KubeObject, seen: string | undefined): boolean =>
  seen === undefined || !isAtLeast(seen, object.metadata.resourceVersion ?? "");

/** Removing the last finalizer removes the object too, although the answer shows it. */
const isGoneWithThisWrite = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0;
