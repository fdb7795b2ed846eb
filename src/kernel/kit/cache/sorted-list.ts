/** A larger block is split, which bounds what a change moves. */
const maxBlock = 128;

/** Items in order, no two of them equal. Changes compare O(log n) times and move at most one block. */
export class SortedList<T> implements Iterable<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #blocks: T[][] = [];
  #size = 0;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  /** No effect on a present item. */
  add(item: T): void {
    const at = this.#blockOf(item);
    const block = this.#blocks[at];
    this.#size++;
    if (block === undefined) return void this.#blocks.push([item]);
    const place = lowerBound(block, item, this.#compare);
    const there = block[place];
    if (there !== undefined && this.#compare(there, item) === 0) return void this.#size--;
    block.splice(place, 0, item);
    if (block.length > maxBlock) this.#blocks.splice(at + 1, 0, block.splice(maxBlock / 2));
  }

  /** Replaces the equal item, if there is one. */
  replace(item: T): void {
    const block = this.#blocks[this.#blockOf(item)] ?? [];
    const place = lowerBound(block, item, this.#compare);
    const there = block[place];
    if (there !== undefined && this.#compare(there, item) === 0) block[place] = item;
  }

  delete(item: T): void {
    const at = this.#blockOf(item);
    const block = this.#blocks[at] ?? [];
    const place = lowerBound(block, item, this.#compare);
    const there = block[place];
    if (there === undefined || this.#compare(there, item) !== 0) return;
    block.splice(place, 1);
    this.#size--;
    if (block.length === 0) this.#blocks.splice(at, 1);
  }

  /** Must not be held over a change. */
  *[Symbol.iterator](): Generator<T> {
    for (const block of this.#blocks) yield* block;
  }

  /** The first block whose last item is not before this one, or the last block. */
  #blockOf(item: T): number {
    const ends = lowerBound(this.#blocks, item, (block, sought) => this.#compare(block.at(-1) ?? sought, sought));
    return Math.min(ends, Math.max(0, this.#blocks.length - 1));
  }
}

function lowerBound<E, T>(sorted: readonly E[], item: T, compare: (element: E, item: T) => number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const element = sorted[middle];
    if (element !== undefined && compare(element, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
