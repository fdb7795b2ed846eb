import { SparseList } from "./sparse-list.ts";

/** A place in a log: the line that begins there. */
export interface LogPlace {
  readonly id: number;
  readonly offset: number;
}

const mostEntries = 16_384;
const beginning: LogPlace = { id: 1, offset: 0 };

/**
 * Where lines of a log begin, every 1,024 lines or 256 KiB: a cursor that starts anywhere reads at most that much in vain. Bounded for a log of
 * any length. In memory alone: it is made while a log is written, or while it is read for the first time.
 */
export class SparseIndex {
  readonly #places = new SparseList<LogPlace>(mostEntries, (place) => place);

  constructor() {
    this.#places.add(beginning);
  }

  /** Tells of the beginning of a line. Places must not descend; those of before, and those too near to the last one, are passed over. */
  note({ id, offset }: LogPlace): void {
    const last = this.#places.last ?? beginning;
    if (id > last.id && this.#places.isDue(id - last.id, offset - last.offset)) this.#places.add({ id, offset });
  }

  /** The last known place at or before a line. O(log entries). */
  before(id: number): LogPlace {
    return this.#places.lastWhere((place) => place.id <= id) ?? beginning;
  }

  /** Entries, of which there are at most 16,384. */
  get size(): number {
    return this.#places.entries.length;
  }
}
