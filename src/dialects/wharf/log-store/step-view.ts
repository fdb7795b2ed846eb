import type { BuildLog } from "./build-log.ts";
import { logError } from "./errors.ts";
import type { FilePool } from "./file-pool.ts";
import { headerBytes, isRecordAt, lengthAt, lineAt, longestMessage, type StoredLine, workerLogIdAt } from "./record.ts";
import { readAt } from "./open-segment.ts";
import type { Segment } from "./segment.ts";

/** Ids sorted at a time; only their places are in memory. */
const windowLines = 16_384;
const pageBytes = 256 * 1024;
const chunkBytes = 256 * 1024;

interface Spot {
  readonly id: number;
  readonly offset: number;
  readonly length: number;
}

/** The lines of a step by workerLogId in constant memory; unnumbered ones first, unless `after` is given. Reads a
 * window of 16,384 ids at a time. */
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

/** Finds and reads records; keeps the last chunk, because neighbours are usually read together. */
class SpotReader {
  readonly #segment: Segment;
  readonly #end: number;
  readonly #pool: FilePool;
  #chunk: Buffer = Buffer.alloc(0);
  #from = 0;

  constructor(segment: Segment, end: number, pool: FilePool) {
    this.#segment = segment;
    this.#end = end;
    this.#pool = pool;
  }

  async spots(lowest: number, highest: number): Promise<Spot[]> {
    const spots: Spot[] = [];
    for (const block of this.#segment.index.blocksOf(lowest, highest, this.#end))
      for await (const spot of this.#spotsOf(block.offset, block.end))
        if (spot.id >= lowest && spot.id <= highest) spots.push(spot);
    return spots;
  }

  async *withoutNumber(): AsyncGenerator<readonly StoredLine[], void> {
    for (const block of this.#segment.index.blocksOf(0, 0, this.#end)) {
      const spots: Spot[] = [];
      for await (const spot of this.#spotsOf(block.offset, block.end)) if (spot.id === 0) spots.push(spot);
      yield* this.lines(spots);
    }
  }

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

  async *#spotsOf(from: number, end: number): AsyncGenerator<Spot, void> {
    for (let offset = from; offset < end; ) {
      const at = await this.#at(offset, headerBytes);
      const length = lengthAt(this.#chunk, at);
      if (length === undefined || length > headerBytes + longestMessage) throw this.#damaged(offset);
      yield { id: workerLogIdAt(this.#chunk, at), offset, length };
      offset += length;
    }
  }

  async #at(offset: number, length: number): Promise<number> {
    if (offset < this.#from || offset + length > this.#from + this.#chunk.length) {
      const size = Math.min(Math.max(length, chunkBytes), this.#end - offset);
      this.#chunk = await this.#pool.use(this.#segment.path, (handle) => readAt(handle, offset, size));
      this.#from = offset;
    }
    return offset - this.#from;
  }

  #damaged(offset: number): Error {
    return logError("log-damaged", `${this.#segment.path}: expected a record at byte ${offset}, found none`);
  }
}
