import { flushDirectory } from "#lib/base/index.node.ts";
import { closeSync, fdatasync, openSync, readSync, writeSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "#lib/base/index.ts";

const flushFile = promisify(fdatasync);

/** The file grows by this much at a time, filled with zeros: flushing into room that exists needs no new metadata. */
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
  /** Bytes that are set aside. */
  #size: number;
  /** Nothing beyond this was ever written but zeros. Beyond `#end` only after a failure. */
  #dirtyEnd: number;

  private constructor(descriptor: number, end: number, size: number) {
    this.#descriptor = descriptor;
    this.#end = end;
    this.#size = size;
    this.#dirtyEnd = end;
  }

  /** The text of a journal without the zeros after it; empty when there is none. O(file). Throws when the disk fails. */
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

  /**
   * Puts a new file with this text in the place of `path`, in one step that a crash cannot halve: either name leads to a whole
   * file, and the new one is on the disk before it gets the name. When it rejects, the old file is as it was.
   */
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
   * Writes at the end. Throws when the disk does not take it (ENOSPC); then nothing counts as appended, and what the attempt may
   * have left is overwritten with zeros by the next append, so that nobody ever reads an entry that was refused.
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

  /** Takes back what was appended since `end`, a value of `this.end` before: for text whose flush has failed. */
  rewind(end: number): void {
    this.#end = end;
  }

  /** Bytes of text. */
  get end(): number {
    return this.#end;
  }

  /** Resolves when everything appended before is on the disk. */
  flush(): Promise<void> {
    return flushFile(this.#descriptor);
  }

  /** The last call: the descriptor may serve another file afterwards. */
  close(): void {
    closeSync(this.#descriptor);
  }
}

function writeWhole(descriptor: number, bytes: Buffer, position: number): void {
  for (let from = 0; from < bytes.length; ) {
    from += writeSync(descriptor, bytes, from, bytes.length - from, position + from);
  }
}

/** Up to the first zero byte: behind it may be anything that a power cut has brought to the disk out of order. */
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
