import { closeSync, fdatasync, openSync, readSync, writeSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { flushDirectory } from "#lib/base/index.node.ts";
import { codeOf } from "#lib/base/index.ts";

const flushFile = promisify(fdatasync);

/** The file grows in steps filled with zeros: flushing into existing room writes no metadata. */
const growth = 256 * 1024;

/**
 * A file of lines, written at its end and flushed on demand. Zeros follow the last line:
 *
 *     {…}\n{…}\n{…}\n\0\0\0\0\0\0…
 *                    ^ #end         ^ #size
 *
 * Appending takes microseconds and is done synchronously. Reserved room remains usable when the disk is full. The text
 * must not contain zero bytes.
 */
export class JournalFile {
  readonly #descriptor: number;
  #end: number;
  /** Reserved bytes. */
  #size: number;
  /** Only zeros were written beyond this; greater than `#end` only after a failure. */
  #dirtyEnd: number;

  private constructor(descriptor: number, end: number, size: number) {
    this.#descriptor = descriptor;
    this.#end = end;
    this.#size = size;
    this.#dirtyEnd = end;
  }

  /** The text without the zeros; empty if the file is missing. Throws if the disk fails. */
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

  /** Replaces the file. After a crash either file is whole; if it rejects, the old file is unchanged. */
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

  /** Writes at the end. Throws if the disk is full; the next append then overwrites what was left with zeros. */
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

  /** Takes back what was appended since `end`, after a failed flush. */
  rewind(end: number): void {
    this.#end = end;
  }

  get end(): number {
    return this.#end;
  }

  flush(): Promise<void> {
    return flushFile(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function writeWhole(descriptor: number, bytes: Buffer, position: number): void {
  for (let from = 0; from < bytes.length; ) {
    from += writeSync(descriptor, bytes, from, bytes.length - from, position + from);
  }
}

/** Up to the first zero byte: after a power cut, anything may follow it. */
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
