/** A place in a log: the line that begins there. */
export interface LogPlace {
  readonly id: number;
  readonly offset: number;
}

const linesApart = 1024;
const bytesApart = 256 * 1024;
/** Beyond this every second entry goes and those that come stand twice as far apart: 16 bytes each, for a log of any length. */
const mostEntries = 16_384;

/**
 * Where lines of a log begin, every 1,024 lines or 256 KiB: a cursor that starts anywhere reads at most that much in vain. In memory
 * alone: it is made while a log is written, or while it is read for the first time.
 */
export class SparseIndex {
  #ids: number[] = [1];
  #offsets: number[] = [0];
  #factor = 1;

  /** Tells of the beginning of a line. Places must not descend; those of before, and those too near to the last one, are passed over. */
  note({ id, offset }: LogPlace): void {
    const lastId = this.#ids.at(-1) ?? 1;
    const lastOffset = this.#offsets.at(-1) ?? 0;
    if (id <= lastId) return;
    if (id - lastId < linesApart * this.#factor && offset - lastOffset < bytesApart * this.#factor) return;
    this.#ids.push(id);
    this.#offsets.push(offset);
    if (this.#ids.length <= mostEntries) return;
    this.#factor *= 2;
    this.#ids = this.#ids.filter((_, at) => at % 2 === 0);
    this.#offsets = this.#offsets.filter((_, at) => at % 2 === 0);
  }

  /** The last known place at or before a line. O(log entries). */
  before(id: number): LogPlace {
    let [low, high] = [0, this.#ids.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#ids[middle] ?? 0) <= id) low = middle;
      else high = middle - 1;
    }
    return { id: this.#ids[low] ?? 1, offset: this.#offsets[low] ?? 0 };
  }

  /** Entries, of which there are at most 16,384. */
  get size(): number {
    return this.#ids.length;
  }
}
