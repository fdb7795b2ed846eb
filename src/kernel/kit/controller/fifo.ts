/** A queue with O(1) operations, where an array's `shift` moves all items. Unbounded. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head >= this.#items.length) return undefined;
    const item = this.#items[this.#head++];
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    } else if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    }
    return item;
  }

  /** Drops other items. O(n). */
  keep(wanted: (item: T) => boolean): void {
    this.#items = this.#items.slice(this.#head).filter(wanted);
    this.#head = 0;
  }
}
