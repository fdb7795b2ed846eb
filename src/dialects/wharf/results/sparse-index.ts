import { SparseList } from "./sparse-list.ts";

export interface LogPlace {
  readonly id: number;
  readonly offset: number;
}

const mostEntries = 16_384;
const beginning: LogPlace = { id: 1, offset: 0 };

/**
 * Byte offsets of lines, every 1,024 lines or 256 KiB, bounded for logs of any length. Built while a log is written or
 * first read.
 */
export class SparseIndex {
  readonly #places = new SparseList<LogPlace>(mostEntries, (place) => place);

  constructor() {
    this.#places.add(beginning);
  }

  note({ id, offset }: LogPlace): void {
    const last = this.#places.last ?? beginning;
    if (id > last.id && this.#places.isDue(id - last.id, offset - last.offset)) this.#places.add({ id, offset });
  }

  /** The last known place at or before a line. O(log entries). */
  before(id: number): LogPlace {
    return this.#places.lastWhere((place) => place.id <= id) ?? beginning;
  }

  get size(): number {
    return this.#places.entries.length;
  }
}
