import { close, constants, fdatasync, fstat, open, write } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { CommitBatch } from "./disk.ts";
import { isDiskFull } from "./errors.ts";
import { endsDurably, flush } from "./files.ts";
import {
  encodeBatch,
  encodeEnd,
  encodeHead,
  headBytes,
  idBytes,
  type Sealed,
  type SegmentHead,
} from "./redo-segment.ts";
import type { Space } from "./slab.ts";

// Callbacks made promises: a FileHandle costs twice as much a call, and there are two for every commit.
const [openFile, closeFile, statFile, writeFile, syncFile] = [
  promisify(open),
  promisify(close),
  promisify(fstat),
  promisify(write),
  promisify(fdatasync),
];

/** A file that grows with every batch is flushed half as fast as one that is long enough and full of zeros. */
const growBytes = 2 ** 20;
const zeros = Buffer.alloc(growBytes);

/** Memory that is used again: buffers made for each batch are a burden to the garbage collector. */
class Scratch implements Space {
  #bytes = Buffer.alloc(0);

  take(length: number): Buffer {
    if (length > growBytes) return Buffer.allocUnsafeSlow(length);
    if (length > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(Math.min(growBytes, 2 * length));
    return this.#bytes.subarray(0, length);
  }
}

/** A file of the redo log: one segment after the other, each in the place of the one before. Calls must not overlap. */
export class SegmentFile {
  readonly path: string;
  readonly #file: number;
  /** The same file; what is written to it is durable when the write ends. Where there is none, a flush follows each batch. */
  readonly #durable: number | undefined;
  /** Up to here there is room in the file. */
  #room: number;
  /** What there was no room for: until there is, smaller batches get none either, since the disk is full. */
  #refused = 0;
  #position = headBytes;
  #end: Buffer = Buffer.alloc(0);
  #head: SegmentHead | undefined;
  readonly #scratch = new Scratch();

  private constructor(path: string, file: number, durable: number | undefined, room: number) {
    this.path = path;
    this.#file = file;
    this.#durable = durable;
    this.#room = room;
  }

  /** Opens the file, which is made if there is none. What it holds is of no interest any more. */
  static async open(path: string): Promise<SegmentFile> {
    const file = await openFile(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      await flush(dirname(path));
      const { size } = await statFile(file);
      const isDurable = await endsDurably(path);
      const durable = isDurable ? await openFile(path, constants.O_WRONLY | constants.O_DSYNC) : undefined;
      return new SegmentFile(path, file, durable, size);
    } catch (thrown) {
      await closeFile(file);
      throw thrown;
    }
  }

  /** How the next segment names this one. */
  get link(): { readonly id: Buffer; readonly end: Buffer } | undefined {
    return this.#head === undefined ? undefined : { id: this.#head.id, end: this.#end };
  }

  /** Of the segment, head excluded. */
  get bytes(): number {
    return this.#position - headBytes;
  }

  /** Begins another segment; durable when resolved. */
  async begin(head: SegmentHead): Promise<void> {
    this.#position = 0;
    await this.#append(encodeHead(head));
    this.#head = head;
  }

  /** Adds a batch. It is durable when the promise resolves, and will not be found when it rejects. */
  async append(batch: CommitBatch): Promise<void> {
    if (this.#head === undefined) throw new Error(`${this.path} has no segment yet`);
    await this.#append(encodeBatch(batch, this.#head.id, this.#end, this.#scratch));
  }

  /** Closes the segment: `next` is another one that has begun. To be durable before that one is given anything to keep. */
  async end(next: Buffer, revision: number): Promise<void> {
    if (this.#head === undefined) throw new Error(`${this.path} has no segment yet`);
    await this.#append(encodeEnd(next, revision, this.#head.id, this.#end));
  }

  async close(): Promise<void> {
    await closeFile(this.#file);
    if (this.#durable !== undefined) await closeFile(this.#durable);
  }

  async #append({ bytes, end }: Sealed): Promise<void> {
    await this.#ensureRoom(bytes.length);
    await this.#write(bytes);
    this.#position += bytes.length;
    this.#end = end;
  }

  /** A full disk is met here, before anything of a batch is written. What was refused goes first when there is room again. */
  async #ensureRoom(bytes: number): Promise<void> {
    const needed = Math.max(bytes, this.#refused);
    const end = this.#position + needed;
    if (end <= this.#room) return;
    this.#refused = needed;
    while (this.#room < end) {
      const { bytesWritten } = await writeFile(this.#file, zeros, 0, growBytes - (this.#room % growBytes), this.#room);
      this.#room += bytesWritten;
    }
    // Otherwise every batch would wait until the file system has found blocks for it and noted the file's length.
    await syncFile(this.#file);
    this.#refused = 0;
  }

  async #write(bytes: Buffer): Promise<void> {
    const file = this.#durable ?? this.#file;
    let written = 0;
    try {
      while (written < bytes.length) {
        const { bytesWritten } = await writeFile(
          file,
          bytes,
          written,
          bytes.length - written,
          this.#position + written,
        );
        written += bytesWritten;
      }
      if (this.#durable === undefined) await syncFile(this.#file);
    } catch (thrown) {
      // A durable write that fails may have failed in its flush, with all of it in the file.
      if (written > 0 || this.#durable !== undefined) await this.#blankOut(thrown);
      throw thrown;
    }
  }

  /** What was refused must not be found by the next start, though it may be in the file, whole even. */
  async #blankOut(cause: unknown): Promise<void> {
    try {
      await writeFile(this.#file, zeros, 0, idBytes, this.#position);
      // Where flushes fail the disk is given up, and the system's memory has the last word.
      if (isDiskFull(cause)) await syncFile(this.#file);
    } catch (thrown) {
      throw new Error(`${this.path} keeps a write that was refused`, { cause: thrown });
    }
  }
}
