import { inParallel, type Logger, messageOf } from "#lib/base/index.ts";
import type { FilePool } from "./file-pool.ts";
import { writeCheckpoint } from "./open-segment.ts";
import type { Segment, SegmentSnapshot } from "./segment.ts";

/** Bytes to read again after a crash. */
const bytesApart = 64 * 1024 * 1024;

/** Records the state of segments. Failures only slow down the next opening. */
export class Checkpoints {
  readonly #pool: FilePool;
  readonly #log: Logger;
  readonly #due = new Map<Segment, SegmentSnapshot>();

  constructor(pool: FilePool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  /** Call before pending lines are taken: the snapshot describes the file after this write. */
  note(segment: Segment): void {
    if (this.#due.has(segment) || segment.bytes + segment.waiting - segment.checkpointed < bytesApart) return;
    this.#due.set(segment, segment.snapshot());
  }

  /** A checkpoint must not be ahead of the synced file. */
  async writeDue(): Promise<void> {
    for (const [segment, snapshot] of this.#due) {
      if (snapshot.bytes > segment.durable) continue;
      this.#due.delete(segment);
      await this.#write(segment, snapshot);
    }
  }

  async writeAll(segments: Iterable<Segment>): Promise<void> {
    const grown = [...segments].filter(({ bytes, checkpointed }) => bytes > checkpointed);
    await inParallel(grown, (segment) => this.#write(segment, segment.snapshot()));
  }

  clear(): void {
    this.#due.clear();
  }

  async #write(segment: Segment, snapshot: SegmentSnapshot): Promise<void> {
    await writeCheckpoint(segment, snapshot, this.#pool).catch((thrown: unknown) =>
      this.#log.warn("checkpoint of a log was not written", { path: segment.path, error: messageOf(thrown) }),
    );
  }
}
