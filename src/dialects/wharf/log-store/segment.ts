import { logError } from "./errors.ts";
import { IntervalSet, mostIntervals } from "./interval-set.ts";
import { type NewLine, RecordPage } from "./record.ts";
import { SegmentIndex } from "./segment-index.ts";

/** What is known of the records of a segment up to a place in it. */
export interface SegmentFacts {
  /** Length of the records. */
  readonly bytes: number;
  readonly lines: number;
  /** Of the messages alone. */
  readonly textBytes: number;
  readonly lastLogId: number;
  /** The workerLogIds that are present; lines without one are not among them. */
  readonly ids: IntervalSet;
  readonly index: SegmentIndex;
}

/** Facts as they are written down. */
export interface SegmentSnapshot extends Omit<SegmentFacts, "ids" | "index"> {
  readonly ids: readonly number[];
  readonly blocks: readonly number[];
}

/** Of a segment in which nothing is. */
export const noFacts = (): SegmentFacts => ({
  bytes: 0,
  lines: 0,
  textBytes: 0,
  lastLogId: 0,
  ids: new IntervalSet(),
  index: new SegmentIndex(),
});

/**
 * The lines of one step of one build: which are there, and how far its file may be read and is on the disk. Lines are accepted here;
 * `BuildLog` writes and flushes them.
 */
export class Segment {
  readonly stepId: number;
  readonly path: string;
  /** Up to here the file may be read. */
  bytes: number;
  /** Up to here it is on the disk. */
  durable: number;
  /** Up to here its checkpoint knows it. */
  checkpointed: number;
  /** Of everything that was accepted, readable or not, as the four below. */
  ids: IntervalSet;
  index: SegmentIndex;
  lines: number;
  textBytes: number;
  lastLogId: number;
  /** Where the next record goes: behind what waits to be written. */
  #end: number;
  /** Records that wait. */
  #page: RecordPage | undefined;

  /** `facts` are of records that are on the disk. */
  constructor(stepId: number, path: string, facts: SegmentFacts, checkpointed = 0) {
    this.stepId = stepId;
    this.path = path;
    this.bytes = this.durable = this.#end = facts.bytes;
    this.checkpointed = checkpointed;
    ({ ids: this.ids, index: this.index } = facts);
    ({ lines: this.lines, textBytes: this.textBytes, lastLogId: this.lastLogId } = facts);
  }

  /**
   * Takes a line, unless its workerLogId is there already: false then. `newLogId` is asked for those that are taken. Throws `log-gaps`
   * when there are too many gaps to keep track of.
   */
  accept(line: Omit<NewLine, "stepId">, newLogId: () => number): boolean {
    const { workerLogId } = line;
    if (workerLogId > 0) {
      const added = this.ids.add(workerLogId);
      if (added === "present") return false;
      if (added === "full") {
        const found = `line ${workerLogId} makes one more`;
        throw logError("log-gaps", `step ${this.stepId}: expected fewer than ${mostIntervals} gaps, ${found}`, {
          hint: "send the lines that are missing first; the cursor says from where",
        });
      }
    }
    const logId = newLogId();
    this.#page ??= new RecordPage();
    this.index.note(this.#end, logId, workerLogId);
    const length = this.#page.add(logId, line);
    this.#end += length;
    this.lines++;
    this.textBytes += length - 36;
    this.lastLogId = logId;
    return true;
  }

  /** Bytes that wait to be written. */
  get waiting(): number {
    return this.#end - this.bytes;
  }

  /** What is known when everything that was accepted is in the file: `bytes` is where that will end. A copy. */
  snapshot(): SegmentSnapshot {
    const { lines, textBytes, lastLogId } = this;
    return { bytes: this.#end, lines, textBytes, lastLogId, ids: this.ids.flat(), blocks: this.index.flat() };
  }

  /** The records that wait, for one write at `bytes`. */
  take(): Buffer {
    const page = this.#page?.bytes() ?? Buffer.alloc(0);
    this.#page = undefined;
    return page;
  }

  /** Goes back to what the file has. What waited is gone. */
  reset(facts: SegmentFacts): void {
    this.#page = undefined;
    this.bytes = this.durable = this.#end = facts.bytes;
    this.checkpointed = Math.min(this.checkpointed, facts.bytes);
    ({ ids: this.ids, index: this.index } = facts);
    ({ lines: this.lines, textBytes: this.textBytes, lastLogId: this.lastLogId } = facts);
  }
}
