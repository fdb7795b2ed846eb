import { closeSync, fdatasync, openSync, readSync, writeSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "#lib/base/index.ts";

const flushFile = promisify(fdatasync);

/** The file grows by this much at a time, filled with zeros: flushing into room that exists needs no new metadata. */
const growth = 256 * 1024;

/**
 * A file of lines, written at its end and flushed on demand. After the last line it holds zeros. Writing goes to the kernel's
 * memory and takes microseconds, so it is done at once; flushing takes as long as the disk does.
 */
export class JournalFile {
  readonly #descriptor: number;
  #end: number;
  #size: number;

  private constructor(descriptor: number, end: number, size: number) {
    this.#descriptor = descriptor;
    this.#end = end;
    this.#size = size;
  }

  /** The text of a journal without the zeros after it; empty when there is none. */
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

  /** Puts a new file with this text in the place of `path`, in one step that a crash cannot halve. */
  static async replace(path: string, text: string): Promise<JournalFile> {
    const fresh = `${path}.new`;
    const descriptor = openSync(fresh, "w+", 0o600);
    const bytes = Buffer.from(text);
    const size = bytes.length + growth;
    writeWhole(descriptor, Buffer.concat([bytes, Buffer.alloc(growth)]), 0);
    await flushFile(descriptor);
    await rename(fresh, path);
    const directory = await open(dirname(path), "r");
    await directory.sync();
    await directory.close();
    return new JournalFile(descriptor, bytes.length, size);
  }

  append(text: string): void {
    const bytes = Buffer.from(text);
    const end = this.#end + bytes.length;
    if (end > this.#size) {
      writeWhole(this.#descriptor, Buffer.alloc(growth + bytes.length), this.#size);
      this.#size += growth + bytes.length;
    }
    writeWhole(this.#descriptor, bytes, this.#end);
    this.#end = end;
  }

  /** Resolves when everything appended before is on the disk. */
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
