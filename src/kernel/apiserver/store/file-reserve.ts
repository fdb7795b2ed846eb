import { open } from "node:fs/promises";

/** How much is added at once besides what is asked for, in bytes: few additions, and a small store stays small. */
const stepBytes = 1_048_576;

/** What is used of an open file, as `FileHandle` has it. */
export interface GrowingFile {
  stat(): Promise<{ readonly size: number }>;
  write(bytes: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>;
  close(): Promise<void>;
}

/**
 * Room at the end of a database file that the file system has given already, so that a full disk is met here, as an error,
 * before a transaction begins, and not in the middle of one: the database library damages this process's memory when a page of
 * its own cannot be written (docs/decisions/0020-room-ahead.md).
 *
 * `usedBytes` is where the last page in use ends; asking costs a read transaction. Nothing is to be called while a transaction
 * writes: what lies behind that page is written over.
 */
export class FileReserve {
  readonly #file: GrowingFile;
  /** What was in use at the last look, and all that transactions may have taken since. */
  #taken = Number.POSITIVE_INFINITY;
  #end = 0;
  /** What there was no room for. Until there is, smaller transactions get none either: the disk is full. */
  #refused = 0;

  constructor(file: GrowingFile) {
    this.#file = file;
  }

  /** Of a file that exists. It stays open until `close`. */
  static async open(path: string): Promise<FileReserve> {
    return new FileReserve(await open(path, "r+"));
  }

  /** Sets `bytes` of room aside for the next transaction, if there is as much. False: `extend` has to come first. */
  take(bytes: number, usedBytes: () => number): boolean {
    const needed = Math.max(bytes, this.#refused);
    if (this.#taken + needed > this.#end) this.#taken = usedBytes();
    if (this.#taken + needed > this.#end) return false;
    this.#taken += bytes;
    return true;
  }

  /**
   * Adds room and takes `bytes` of it. Rejects with the file system's error when there is none (ENOSPC); what was added before
   * that stays, and nothing that the file holds is touched.
   */
  async extend(bytes: number, usedBytes: number): Promise<void> {
    // The file's own end counts, too: a transaction that took more than it had asked for has pages before it.
    this.#end = (await this.#file.stat()).size;
    this.#refused = Math.max(bytes, this.#refused);
    const wanted = usedBytes + this.#refused + stepBytes;
    const zeros = Buffer.alloc(stepBytes);
    while (this.#end < wanted) {
      const length = Math.min(stepBytes, wanted - this.#end);
      // Real zeros: a file that is only made longer has no room of its own.
      const { bytesWritten } = await this.#file.write(zeros, 0, length, this.#end);
      this.#end += bytesWritten;
    }
    this.#refused = 0;
    this.#taken = usedBytes + bytes;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
