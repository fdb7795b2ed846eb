import { logError } from "./errors.ts";
import { IntervalSet, mostIntervals } from "./interval-set.ts";
import { type NewLine, RecordPage } from "./record.ts";
import { SegmentIndex } from "./segment-index.ts";

export interface SegmentFacts {
  readonly bytes: number;
  readonly lines: number;
  readonly textBytes: number;
  readonly lastLogId: number;
  readonly ids: IntervalSet;
  readonly index: SegmentIndex;
}

export const noFacts = (): SegmentFacts => ({
  bytes: 0,
  lines: 0,
  textBytes: 0,
  lastLogId: 0,
  ids: new IntervalSet(),
  index: new SegmentIndex(),
});

/** The lines of one step: which exist, and how far its file is readable and synced. `BuildLog` writes and flushes it.
 */
export class Segment {
  readonly stepId: number;
  readonly path: string;
  bytes: number;
  durable: number;
  /** The next five cover all accepted lines, written or not. */
  ids: IntervalSet;
  index: SegmentIndex;
  lines: number;
  textBytes: number;
  lastLogId: number;
  #end: number;
  #page: RecordPage | undefined;

  constructor(stepId: number, path: string, facts: SegmentFacts) {
    this.stepId = stepId;
    this.path = path;
    this.bytes = this.durable = this.#end = facts.bytes;
    ({ ids: this.ids, index: this.index } = facts);
    ({ lines: this.lines, textBytes: this.textBytes, lastLogId: this.lastLogId } = facts);
  }

  /** False if the workerLogId exists. Throws `log-gaps` if there are too many gaps. */
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

  get waiting(): number {
    return this.#end - this.bytes;
  }

  take(): Buffer {
    const page = this.#page?.bytes() ?? Buffer.alloc(0);
    this.#page = undefined;
    return page;
  }
}
