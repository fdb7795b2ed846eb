import { SparseList } from "../results/sparse-list.ts";

/** Records that stand together in a segment. */
interface Block {
  /** Where the first of them begins. */
  readonly offset: number;
  /** Of the first of them. */
  readonly logId: number;
  /** The lowest and the highest workerLogId among them. Of the last block they change with each record. */
  lowest: number;
  highest: number;
}

const mostBlocks = 4096;

/**
 * Where records are, a block per 1,024 of them or 256 KiB: who looks for a line reads one block in vain, and who looks for a step's lines
 * only blocks that have some of them. Bounded for segments of any length.
 */
export class SegmentIndex {
  readonly #blocks = new SparseList<Block>(mostBlocks, (block, next) => ({
    ...block,
    lowest: Math.min(block.lowest, next.lowest),
    highest: Math.max(block.highest, next.highest),
  }));
  /** Where records are added. */
  #last: Block | undefined;
  /** Of that block. */
  #records = 0;

  /** Of what `flat` gave. What is added goes into a new block. */
  static of(flat: readonly number[]): SegmentIndex {
    const index = new SegmentIndex();
    for (let at = 0; at + 3 < flat.length; at += 4) {
      const [offset = 0, logId = 0, lowest = 0, highest = 0] = flat.slice(at, at + 4);
      index.#blocks.add({ offset, logId, lowest, highest });
    }
    if (index.#blocks.entries.length > mostBlocks / 2) index.#blocks.thin();
    return index;
  }

  /** Tells of a record behind those of before. */
  note(offset: number, logId: number, workerLogId: number): void {
    const last = this.#last;
    if (last === undefined || this.#blocks.isDue(this.#records, offset - last.offset)) {
      this.#blocks.add({ offset, logId, lowest: workerLogId, highest: workerLogId });
      this.#last = this.#blocks.last;
      this.#records = 1;
      return;
    }
    this.#records++;
    if (workerLogId < last.lowest) last.lowest = workerLogId;
    if (workerLogId > last.highest) last.highest = workerLogId;
  }

  /** Where to begin reading in order to find the first record of a logId or of one after it. O(log blocks). */
  offsetOf(logId: number): number {
    return this.#blocks.lastWhere((block) => block.logId <= logId)?.offset ?? 0;
  }

  /** The blocks that may have a record whose workerLogId is between two numbers, each with the offset at which it ends. */
  *blocksOf(
    lowest: number,
    highest: number,
    end: number,
  ): Generator<{ readonly offset: number; readonly end: number }> {
    const blocks = this.#blocks.entries;
    for (const [at, block] of blocks.entries()) {
      if (block.offset >= end) return;
      if (block.highest < lowest || block.lowest > highest) continue;
      yield { offset: block.offset, end: Math.min(end, blocks[at + 1]?.offset ?? end) };
    }
  }

  /** Four numbers for each block. */
  flat(): number[] {
    return this.#blocks.entries.flatMap(({ offset, logId, lowest, highest }) => [offset, logId, lowest, highest]);
  }
}
