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

// Callbacks made promises: a FileHandle costs twice as much a call.
const [openFile, closeFile, statFile, writeFile, syncFile] = [
  promisify(open),
  promisify(close),
  promisify(fstat),
  promisify(write),
  promisify(fdatasync),
];

/** Space is added in steps: flushing a file that grows with every batch takes twice as long. */
const growBytes = 2 ** 20;
const zeros = Buffer.alloc(growBytes);

/** Reused memory: a buffer for each batch would burden the garbage collector. */
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
  /** The same file opened for durable writes. Without it a flush follows each batch. */
  readonly #durable: number | undefined;
  /** Length of the file. */
  #room: number;
  /** The largest refused batch. Until it fits, smaller ones are refused as well: the disk is full. */
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

  /** Opens or creates the file; its content is ignored. */
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

  get link(): { readonly id: Buffer; readonly end: Buffer } | undefined {
    return this.#head === undefined ? undefined : { id: this.#head.id, end: this.#end };
  }

  /** Length of the segment without its head. */
  get bytes(): number {
    return this.#position - headBytes;
  }

  /** Begins another segment; durable when resolved. */
  async begin(head: SegmentHead): Promise<void> {
    this.#position = 0;
    await this.#append(encodeHead(head));
    this.#head = head;
  }

  /** Adds a batch: durable when resolved, never found again when rejected. */
  async append(batch: CommitBatch): Promise<void> {
    if (this.#head === undefined) throw new Error(`${this.path} has no segment yet`);
    await this.#append(encodeBatch(batch, this.#head.id, this.#end, this.#scratch));
  }

  /** Closes the segment, after `next` has begun and before it holds anything. */
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

  /** A full disk fails here, before anything of a batch is written. */
  async #ensureRoom(bytes: number): Promise<void> {
    const needed = Math.max(bytes, this.#refused);
    const end = this.#position + needed;
    if (end <= this.#room) return;
    this.#refused = needed;
    while (this.#room < end) {
      const { bytesWritten } = await writeFile(this.#file, zeros, 0, growBytes - (this.#room % growBytes), this.#room);
      this.#room += bytesWritten;
    }
    // Otherwise every batch would wait for the file system to allocate blocks.
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
      // A durable write may fail in its flush, with all of it in the file.
      if (written > 0 || this.#durable !== undefined) await this.#blankOut(thrown);
      throw thrown;
    }
  }

  /** A refused batch may be whole in the file; the next start must not find it. */
  async #blankOut(cause: unknown): Promise<void> {
    try {
      await writeFile(this.#file, zeros, 0, idBytes, this.#position);
      // If even flushes fail, the disk is given up.
      if (isDiskFull(cause)) await syncFile(this.#file);
    } catch (thrown) {
      throw new Error(`${this.path} keeps a write that was refused`, { cause: thrown });
    }
  }
}
