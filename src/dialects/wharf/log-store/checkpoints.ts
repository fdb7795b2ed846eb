import { inParallel, type Logger, messageOf } from "#lib/base/index.ts";
import type { FilePool } from "./file-pool.ts";
import { writeCheckpoint } from "./open-segment.ts";
import type { Segment, SegmentSnapshot } from "./segment.ts";

/** A crash costs reading so much of a segment. */
const bytesApart = 64 * 1024 * 1024;

/** Writes down what is known of segments, now and then. What fails here costs time at the next opening, and nothing else. */
export class Checkpoints {
  readonly #pool: FilePool;
  readonly #log: Logger;
  /** What will be known of a segment when what was taken from it is on the disk. */
  readonly #due = new Map<Segment, SegmentSnapshot>();

  constructor(pool: FilePool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  /** Before what waits is taken from a segment: then its facts are those of its file after this write. */
  note(segment: Segment): void {
    if (this.#due.has(segment) || segment.bytes + segment.waiting - segment.checkpointed < bytesApart) return;
    this.#due.set(segment, segment.snapshot());
  }

  /** Writes those that the disk has caught up with: a checkpoint must not know more than the disk. */
  async writeDue(): Promise<void> {
    for (const [segment, snapshot] of this.#due) {
      if (snapshot.bytes > segment.durable) continue;
      this.#due.delete(segment);
      await this.#write(segment, snapshot);
    }
  }

  /** Writes those of all segments that have grown, which must be written and flushed. */
  async writeAll(segments: Iterable<Segment>): Promise<void> {
    const grown = [...segments].filter(({ bytes, checkpointed }) => bytes > checkpointed);
    await inParallel(grown, (segment) => this.#write(segment, segment.snapshot()));
  }

  /** Forgets those that were noted: what they know will not come to be. */
  clear(): void {
    this.#due.clear();
  }

  async #write(segment: Segment, snapshot: SegmentSnapshot): Promise<void> {
    await writeCheckpoint(segment, snapshot, this.#pool).catch((thrown: unknown) =>
      this.#log.warn("checkpoint of a log was not written", { path: segment.path, error: messageOf(thrown) }),
    );
  }
}
