import type { BuildLog } from "./build-log.ts";
import { logError } from "./errors.ts";
import type { FilePool } from "./file-pool.ts";
import { headerBytes, isRecordAt, lengthAt, lineAt, longestMessage, type StoredLine, workerLogIdAt } from "./record.ts";
import { readAt } from "./scan-segment.ts";
import type { Segment } from "./segment.ts";

/** Numbers that are put in order at a time; their places are in memory, their messages are not. */
const windowLines = 16_384;
/** Of messages that are given at once, and of what is read at once. */
const pageBytes = 256 * 1024;
const chunkBytes = 256 * 1024;

/** Where a record is. */
interface Spot {
  /** Its workerLogId. */
  readonly id: number;
  readonly offset: number;
  readonly length: number;
}

/**
 * The lines of one step that can be read at present, ascending by workerLogId, whatever order they came in; those without one first, in order
 * of arrival. `after`: the workerLogId before the first that is wanted; with it, those without one are left out. In constant memory: a window
 * of 16,384 numbers at a time, for which only blocks are read that have some of them.
 */
export async function* viewStep(
  build: BuildLog,
  stepId: number,
  pool: FilePool,
  after?: number,
): AsyncGenerator<readonly StoredLine[], void> {
  const segment = build.segment(stepId);
  if (segment === undefined) return;
  const reader = new SpotReader(segment, segment.bytes, pool);
  if (after === undefined) yield* reader.withoutNumber();
  const { highest } = segment.ids;
  for (let from = (after ?? 0) + 1; from <= highest; from += windowLines) {
    const spots = await reader.spots(from, Math.min(highest, from + windowLines - 1));
    spots.sort((a, b) => a.id - b.id);
    yield* reader.lines(spots);
  }
}

/** Finds and reads records of a segment up to an end. Keeps the last chunk, since neighbours are mostly asked for together. */
class SpotReader {
  /** Whose records. */
  readonly #segment: Segment;
  /** What could be read when this was made. */
  readonly #end: number;
  readonly #pool: FilePool;
  /** What was read last, and where it begins in the file. */
  #chunk: Buffer = Buffer.alloc(0);
  #from = 0;

  constructor(segment: Segment, end: number, pool: FilePool) {
    this.#segment = segment;
    this.#end = end;
    this.#pool = pool;
  }

  /** Where the records of some numbers are, in order of arrival. */
  async spots(lowest: number, highest: number): Promise<Spot[]> {
    const spots: Spot[] = [];
    for (const block of this.#segment.index.blocksOf(lowest, highest, this.#end))
      for await (const spot of this.#spotsOf(block.offset, block.end))
        if (spot.id >= lowest && spot.id <= highest) spots.push(spot);
    return spots;
  }

  /** The lines that have no number. */
  async *withoutNumber(): AsyncGenerator<readonly StoredLine[], void> {
    for (const block of this.#segment.index.blocksOf(0, 0, this.#end)) {
      const spots: Spot[] = [];
      for await (const spot of this.#spotsOf(block.offset, block.end)) if (spot.id === 0) spots.push(spot);
      yield* this.lines(spots);
    }
  }

  /** The lines at some spots, in their order, in pages. */
  async *lines(spots: readonly Spot[]): AsyncGenerator<readonly StoredLine[], void> {
    let page: StoredLine[] = [];
    let bytes = 0;
    for (const { offset, length } of spots) {
      const at = await this.#at(offset, length);
      if (!isRecordAt(this.#chunk, at)) throw this.#damaged(offset);
      page.push(lineAt(this.#chunk, at, this.#segment.stepId));
      bytes += length;
      if (bytes < pageBytes) continue;
      yield page;
      [page, bytes] = [[], 0];
    }
    if (page.length > 0) yield page;
  }

  /** Of every record between two places, which are beginnings of records. */
  async *#spotsOf(from: number, end: number): AsyncGenerator<Spot, void> {
    for (let offset = from; offset < end; ) {
      const at = await this.#at(offset, headerBytes);
      const length = lengthAt(this.#chunk, at);
      if (length === undefined || length > headerBytes + longestMessage) throw this.#damaged(offset);
      yield { id: workerLogIdAt(this.#chunk, at), offset, length };
      offset += length;
    }
  }

  /** Where a part of the segment is in the chunk, which is read when it is not there. */
  async #at(offset: number, length: number): Promise<number> {
    if (offset < this.#from || offset + length > this.#from + this.#chunk.length) {
      const size = Math.min(Math.max(length, chunkBytes), this.#end - offset);
      this.#chunk = await this.#pool.use(this.#segment.path, (handle) => readAt(handle, offset, size));
      this.#from = offset;
    }
    return offset - this.#from;
  }

  /** The bytes are not what was written. */
  #damaged(offset: number): Error {
    return logError("log-damaged", `${this.#segment.path}: expected a record at byte ${offset}, found none`);
  }
}
