/** An entry in the cache's list; the links belong to the cache. */
export interface CacheSlot {
  /** Estimated bytes of the parsed form; never changes. */
  readonly cost: number;
  older: CacheSlot | undefined;
  younger: CacheSlot | undefined;
  forget(): void;
}

/** Size of a parsed object relative to its JSON: 2.2 to 3.6 measured on Kubernetes objects of 0.5 to 20 KiB. */
export const parsedPerByte = 3;

/** Drops the least recently used. A linked list: a Map gets slow when its first element is removed often. */
export class ObjectCache {
  readonly #limit: number;
  #oldest: CacheSlot | undefined;
  #youngest: CacheSlot | undefined;
  #cost = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Estimated bytes; never above the limit between two calls. */
  get bytes(): number {
    return this.#cost;
  }

  /** Adds a slot or makes it the youngest, then forgets the oldest ones over the limit, even this one. */
  touch(slot: CacheSlot): void {
    if (slot === this.#youngest) return;
    if (slot.younger !== undefined) this.#unlink(slot);
    slot.older = this.#youngest;
    if (this.#youngest === undefined) this.#oldest = slot;
    else this.#youngest.younger = slot;
    this.#youngest = slot;
    this.#cost += slot.cost;
    while (this.#cost > this.#limit && this.#oldest !== undefined) {
      const forgotten: CacheSlot = this.#oldest;
      this.#unlink(forgotten);
      forgotten.forget();
    }
  }

  /** Forgets a slot if the cache holds it. */
  drop(slot: CacheSlot): void {
    if (slot !== this.#youngest && slot.younger === undefined) return;
    this.#unlink(slot);
    slot.forget();
  }

  #unlink(slot: CacheSlot): void {
    const { older, younger } = slot;
    if (older === undefined) this.#oldest = younger;
    else older.younger = younger;
    if (younger === undefined) this.#youngest = older;
    else younger.older = older;
    slot.older = undefined;
    slot.younger = undefined;
    this.#cost -= slot.cost;
  }
}
