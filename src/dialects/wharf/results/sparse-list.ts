const linesApart = 1024;
const bytesApart = 256 * 1024;

/** A bounded list with one entry per 1,024 lines or 256 KiB. Beyond `most` entries neighbours are joined and the
 * distance doubles. */
export class SparseList<Entry> {
  #entries: Entry[] = [];
  #factor = 1;
  readonly #most: number;
  readonly #join: (entry: Entry, next: Entry) => Entry;

  /** `join` merges two neighbours at the place of the first. */
  constructor(most: number, join: (entry: Entry, next: Entry) => Entry) {
    this.#most = most;
    this.#join = join;
  }

  /** True if an entry is due this far behind the last one. */
  isDue(lines: number, bytes: number): boolean {
    return lines >= linesApart * this.#factor || bytes >= bytesApart * this.#factor;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    if (this.#entries.length > this.#most) this.#thin();
  }

  #thin(): void {
    this.#factor *= 2;
    const joined: Entry[] = [];
    for (let at = 0; at < this.#entries.length; at += 2) {
      const [entry, next] = this.#entries.slice(at, at + 2);
      if (entry !== undefined) joined.push(next === undefined ? entry : this.#join(entry, next));
    }
    this.#entries = joined;
  }

  get last(): Entry | undefined {
    return this.#entries.at(-1);
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** `isBefore` must be true for a prefix of the entries. O(log entries). */
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
