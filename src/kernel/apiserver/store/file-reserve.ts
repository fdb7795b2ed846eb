import { open } from "node:fs/promises";

/** Added besides what is requested, in bytes. */
const stepBytes = 1_048_576;

export interface GrowingFile {
  stat(): Promise<{ readonly size: number }>;
  write(bytes: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>;
  close(): Promise<void>;
}

/**
 * Space at the end of a database file that the file system has already allocated. A full disk is thus an error before a
 * transaction begins: LMDB damages this process's memory when it cannot write a page (docs/decisions/0020-room-
 * ahead.md). `usedBytes` returns where the last used page ends. Must not be called while a transaction writes.
 */
export class FileReserve {
  readonly #file: GrowingFile;
  /** Bytes in use at the last look, plus all that transactions may have taken since. */
  #taken = Number.POSITIVE_INFINITY;
  #end = 0;
  /** The largest refused request. Until it fits, smaller ones are refused as well: the disk is full. */
  #refused = 0;

  constructor(file: GrowingFile) {
    this.#file = file;
  }

  static async open(path: string): Promise<FileReserve> {
    return new FileReserve(await open(path, "r+"));
  }

  /** Reserves `bytes` for the next transaction. If false, call `extend` first. */
  take(bytes: number, usedBytes: () => number): boolean {
    const needed = Math.max(bytes, this.#refused);
    if (this.#taken + needed > this.#end) this.#taken = usedBytes();
    if (this.#taken + needed > this.#end) return false;
    this.#taken += bytes;
    return true;
  }

  /** Adds and reserves space. Rejects with the file system's error (ENOSPC); never touches the file's content. */
  async extend(bytes: number, usedBytes: number): Promise<void> {
    // A transaction that took more than it asked for has pages before the file's end.
    this.#end = (await this.#file.stat()).size;
    this.#refused = Math.max(bytes, this.#refused);
    const wanted = usedBytes + this.#refused + stepBytes;
    const zeros = Buffer.alloc(stepBytes);
    while (this.#end < wanted) {
      const length = Math.min(stepBytes, wanted - this.#end);
      // Real zeros: extending the length alone allocates nothing.
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
