import { SparseList } from "../results/sparse-list.ts";

interface Block {
  readonly offset: number;
  readonly logId: number;
  /** Lowest and highest workerLogId; the last block's change with each record. */
  lowest: number;
  highest: number;
}

const mostBlocks = 4096;

/** Blocks of 1,024 records or 256 KiB, bounded for segments of any length. */
export class SegmentIndex {
  readonly #blocks = new SparseList<Block>(mostBlocks, (block, next) => ({
    ...block,
    lowest: Math.min(block.lowest, next.lowest),
    highest: Math.max(block.highest, next.highest),
  }));
  #last: Block | undefined;
  #records = 0;

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

  offsetOf(logId: number): number {
    return this.#blocks.lastWhere((block) => block.logId <= logId)?.offset ?? 0;
  }

  /** Blocks that may contain a workerLogId in a range. */
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
}
