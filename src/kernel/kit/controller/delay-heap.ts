import type { Millis } from "#lib/base/index.ts";

interface Entry {
  readonly key: string;
  readonly at: Millis;
  readonly order: number;
}

/** Keys with the time they are due: a binary heap with lazy deletion, O(log n), at most twice as large as its keys. */
export class DelayHeap {
  readonly #atByKey = new Map<string, Entry>();
  // Replaced and deleted entries stay until they come up or outnumber the live ones.
  #heap: Entry[] = [];
  #order = 0;

  get size(): number {
    return this.#atByKey.size;
  }

  timeOf(key: string): Millis | undefined {
    return this.#atByKey.get(key)?.at;
  }

  set(key: string, at: Millis): void {
    const entry = { key, at, order: this.#order++ };
    this.#atByKey.set(key, entry);
    this.#heap.push(entry);
    this.#up(this.#heap.length - 1);
    if (this.#heap.length > 64 && this.#heap.length > 2 * this.#atByKey.size) this.#rebuild();
  }

  delete(key: string): void {
    this.#atByKey.delete(key);
  }

  clear(): void {
    this.#atByKey.clear();
    this.#heap = [];
  }

  next(): Millis | undefined {
    this.#dropDead();
    return this.#heap[0]?.at;
  }

  /** Removes and returns the earliest key due at `now`. */
  takeDue(now: Millis): string | undefined {
    this.#dropDead();
    const first = this.#heap[0];
    if (first === undefined || first.at > now) return undefined;
    this.#atByKey.delete(first.key);
    this.#pop();
    return first.key;
  }

  #dropDead(): void {
    for (let first = this.#heap[0]; first !== undefined && this.#isDead(first); first = this.#heap[0]) this.#pop();
  }

  #isDead(entry: Entry): boolean {
    return this.#atByKey.get(entry.key) !== entry;
  }

  #rebuild(): void {
    this.#heap = [...this.#atByKey.values()].sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #up(start: number): void {
    for (let index = start; index > 0; ) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  #down(start: number): void {
    for (let index = start; ; ) {
      const left = 2 * index + 1;
      const right = left + 1;
      const [a, b] = [this.#heap[left], this.#heap[right]];
      if (a === undefined) return;
      const child = b !== undefined && isBefore(b, a) ? right : left;
      if (!this.#swapIfBefore(child, index)) return;
      index = child;
    }
  }

  #swapIfBefore(lower: number, upper: number): boolean {
    const [a, b] = [this.#heap[lower], this.#heap[upper]];
    if (a === undefined || b === undefined || !isBefore(a, b)) return false;
    this.#heap[upper] = a;
    this.#heap[lower] = b;
    return true;
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
