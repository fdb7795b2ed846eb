import { type FileHandle, open } from "node:fs/promises";
import type { Changes } from "./changes.ts";
import { SparseIndex } from "./sparse-index.ts";

/**
 * The log of one step as its readers know it: a file, and how far it may be read. What the writer has not published does not exist for
 * them, so that nobody ever sees half a line. Readers share one open file, which is closed when none is left.
 */
export class StepLog {
  readonly stepId: number;
  readonly path: string;
  readonly index = new SparseIndex();
  readonly #changes: Changes;
  /** Bytes and lines that may be read. */
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

  /** NaN for a log of an earlier worker that nobody has counted. */
  get lines(): number {
    return this.#lines;
  }

  /** Nothing is added any more. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Why it is not complete, if it is not. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Lines have been written behind those of before. */
  publish(bytes: number, lines: number): void {
    this.#bytes += bytes;
    this.#lines += lines;
    this.#changes.tell();
  }

  /** The writer has gone. Followers that have seen everything give the file back. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#changes.tell();
  }

  /** The first reason stays. What was published stays readable. */
  fail(failure: Error): void {
    this.#failure ??= failure;
  }

  /** Keeps the file open until `release`. */
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

  /** The last one closes it. */
  async release(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    const handle = await this.#handle;
    // Somebody else may have come meanwhile.
    if (this.#users > 0 || handle === undefined) return;
    this.#handle = undefined;
    await handle.close();
  }
}
