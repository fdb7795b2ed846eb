/** Lines between two entries at first. */
const linesApart = 1024;
/** Bytes between two entries at first. */
const bytesApart = 256 * 1024;

/**
 * Entries about a few of very many lines, one for each 1,024 of them or 256 KiB, in the order of the lines. Bounded: beyond `most` every two
 * entries are joined into one, and those that come stand twice as far apart.
 */
export class SparseList<Entry> {
  #entries: Entry[] = [];
  /** How many times further apart they stand than at first. */
  #factor = 1;
  readonly #most: number;
  readonly #join: (entry: Entry, next: Entry) => Entry;

  /** `join`: one entry for what both stand for, at the place of the first. */
  constructor(most: number, join: (entry: Entry, next: Entry) => Entry) {
    this.#most = most;
    this.#join = join;
  }

  /** Whether the next entry is due, so many lines and bytes after the last one. */
  isDue(lines: number, bytes: number): boolean {
    return lines >= linesApart * this.#factor || bytes >= bytesApart * this.#factor;
  }

  /** Behind all others. */
  add(entry: Entry): void {
    this.#entries.push(entry);
    if (this.#entries.length > this.#most) this.thin();
  }

  /** Half as many entries, twice as far apart. */
  thin(): void {
    this.#factor *= 2;
    const joined: Entry[] = [];
    for (let at = 0; at < this.#entries.length; at += 2) {
      const [entry, next] = this.#entries.slice(at, at + 2);
      if (entry !== undefined) joined.push(next === undefined ? entry : this.#join(entry, next));
    }
    this.#entries = joined;
  }

  /** What was added last. */
  get last(): Entry | undefined {
    return this.#entries.at(-1);
  }

  /** In their order. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The last of those for which it is true, which must be the first ones. O(log entries). */
  lastWhere(isBefore: (entry: Entry) => boolean): Entry | undefined {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const entry = this.#entries[middle];
      if (entry !== undefined && isBefore(entry)) low = middle + 1;
      else high = middle;
    }
    return this.#entries[low - 1];
  }
}
