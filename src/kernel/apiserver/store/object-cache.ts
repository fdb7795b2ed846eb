/** What the cache holds on behalf of an entry; told when it must let go. The links belong to the cache. */
export interface CacheSlot {
  /** Bytes the parsed form is reckoned to take; never changes. */
  readonly cost: number;
  older: CacheSlot | undefined;
  younger: CacheSlot | undefined;
  forget(): void;
}

/** How much larger a parsed object is than its JSON: measured 2.2 to 3.6 on Kubernetes objects of 0.5 to 20 KiB. */
export const parsedPerByte = 3;

/**
 * Keeps parsed objects by least recent use, up to a total cost. A list linked through the slots: a Set or Map that loses its
 * first element again and again has to step over all it lost before, which took a sixth of a write's time.
 */
export class ObjectCache {
  readonly #limit: number;
  #oldest: CacheSlot | undefined;
  #youngest: CacheSlot | undefined;
  #cost = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Reckoned bytes of all slots in it; never above the limit between two calls. */
  get bytes(): number {
    return this.#cost;
  }

  /** Adds a slot, or makes it the youngest. What is over the limit is forgotten, the added slot itself if it alone is. */
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

  /** Lets go of a slot before its time; nothing happens when the cache does not hold it. */
  drop(slot: CacheSlot): void {
    if (slot !== this.#youngest && slot.younger === undefined) return;
    this.#unlink(slot);
    slot.forget();
  }

  /** Takes a slot out that is in the list; O(1). */
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
