import { flushDirectory } from "#lib/base/index.node.ts";
import { closeSync, fdatasync, openSync, readSync, writeSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "#lib/base/index.ts";

const flushFile = promisify(fdatasync);

/** The file grows by zeros: flushing into existing room needs no new metadata. */
const growth = 256 * 1024;

/**
 * A file of lines, written at its end and flushed on demand. After the last line it holds zeros:
 *
 *     {…}\n{…}\n{…}\n\0\0\0\0\0\0…
 *                    ^ #end         ^ #size
 *
 * Writing goes to the kernel's memory and takes microseconds, so it is done at once; flushing takes as long as the disk does.
 * Room that was set aside is still there when the disk is full. The text must not hold a zero byte; JSON never does.
 */
export class JournalFile {
  readonly #descriptor: number;
  /** Where the next line begins. */
  #end: number;
  /** Bytes reserved. */
  #size: number;
  /** Only zeros were ever written beyond this. Exceeds `#end` only after a failure. */
  #dirtyEnd: number;

  private constructor(descriptor: number, end: number, size: number) {
    this.#descriptor = descriptor;
    this.#end = end;
    this.#size = size;
    this.#dirtyEnd = end;
  }

  /** The text without the zeros; empty if there is no file. O(file). Throws on disk failure. */
  static read(path: string): string {
    let descriptor: number;
    try {
      descriptor = openSync(path, "r");
    } catch (thrown) {
      if (codeOf(thrown) === "ENOENT") return "";
      throw thrown;
    }
    try {
      return readAll(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Replaces `path` atomically with a new durable file of this text. If it rejects, the old file is unchanged. */
  static async replace(path: string, text: string): Promise<JournalFile> {
    const fresh = `${path}.new`;
    const descriptor = openSync(fresh, "w+", 0o600);
    try {
      const bytes = Buffer.from(text);
      writeWhole(descriptor, Buffer.concat([bytes, Buffer.alloc(growth)]), 0);
      await flushFile(descriptor);
      await rename(fresh, path);
      await flushDirectory(dirname(path));
      return new JournalFile(descriptor, bytes.length, bytes.length + growth);
    } catch (thrown) {
      closeSync(descriptor);
      await rm(fresh, { force: true });
      throw thrown;
    }
  }

  /**
   * Writes at the end. Throws if the disk is full; nothing then counts as appended, and remains of the attempt are
   * zeroed by the next append.
   */
  append(text: string): void {
    const bytes = Buffer.from(text);
    const end = this.#end + bytes.length;
    if (end > this.#size) {
      writeWhole(this.#descriptor, Buffer.alloc(growth + bytes.length), this.#size);
      this.#size += growth + bytes.length;
    }
    const remains = Math.max(0, this.#dirtyEnd - end);
    this.#dirtyEnd = Math.max(this.#dirtyEnd, end);
    writeWhole(this.#descriptor, remains === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(remains)]), this.#end);
    this.#dirtyEnd = end;
    this.#end = end;
  }

  /** Takes back what was appended since `end`, an earlier `this.end`, after a failed flush. */
  rewind(end: number): void {
    this.#end = end;
  }

  get end(): number {
    return this.#end;
  }

  /** Resolves when everything appended is on the disk. */
  flush(): Promise<void> {
    return flushFile(this.#descriptor);
  }

  /** The last call. */
  close(): void {
    closeSync(this.#descriptor);
  }
}

function writeWhole(descriptor: number, bytes: Buffer, position: number): void {
  for (let from = 0; from < bytes.length; ) {
    from += writeSync(descriptor, bytes, from, bytes.length - from, position + from);
  }
}

/** Up to the first zero byte; after a power cut anything may follow it. */
function readAll(descriptor: number): string {
  const pieces: Buffer[] = [];
  for (let position = 0; ; ) {
    const piece = Buffer.allocUnsafe(growth);
    const length = readSync(descriptor, piece, 0, growth, position);
    if (length === 0) break;
    const end = piece.subarray(0, length).indexOf(0);
    pieces.push(piece.subarray(0, end < 0 ? length : end));
    if (end >= 0) break;
    position += length;
  }
  return Buffer.concat(pieces).toString("utf8");
}
