import { SparseList } from "./sparse-list.ts";
import { type FileHandle, open } from "node:fs/promises";
import type { Changes } from "./changes.ts";

export class StepLog {
  readonly stepId: number;
  readonly path: string;
  readonly index = new SparseIndex();
  readonly #changes: Changes;
  #bytes = 0;
  #lines = 0;
  #ended = false;
  #failure: Error | undefined;
  #users = 0;
  #handle: Promise<FileHandle> | undefined;

  constructor(stepId: number, path: string, changes: Changes) {
    this.stepId = stepId;
    this.path = path;
    this.#changes = changes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** NaN for an uncounted log of an earlier worker. */
  get lines(): number {
    return this.#lines;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  publish(bytes: number, lines: number): void {
    this.#bytes += bytes;
    this.#lines += lines;
    this.#changes.tell();
  }

  /** Followers close the file once they have read it. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#changes.tell();
  }

  fail(failure: Error): void {
    this.#failure ??= failure;
  }

  async acquire(): Promise<FileHandle> {
    this.#users++;
    this.#handle ??= open(this.path, "r");
    try {
      return await this.#handle;
    } catch (thrown) {
      this.#users--;
      this.#handle = undefined;
      throw thrown;
    }
  }

  async release(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    const handle = await this.#handle;
    // Another reader may have come meanwhile.
    if (this.#users > 0 || handle === undefined) return;
    this.#handle = undefined;
    await handle.close();
  }
}

interface LogPlace {
  readonly id: number;
  readonly offset: number;
}

const mostEntries = 16_384;
const beginning: LogPlace = { id: 1, offset: 0 };

/** Byte offsets of lines, every 1,024 lines or 256 KiB, bounded for logs of any length. Built while a log is written or
 * first read. */
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
