import { type FileHandle, rename, truncate, unlink } from "node:fs/promises";
import { type Instant } from "#lib/base/index.ts";
import { fileOfAge, listLogFiles, type LogFile, lookAt, removeLog, type Rotation } from "./log-files.ts";
import { bytesBefore, lossMark } from "./loss-mark.ts";
import { orClosed, openLogFile } from "./open-file.ts";
import type { ReceivedState } from "./received-state.ts";
import { moveFile, removeFile, writeWhole } from "./rotate.ts";

/** So many files may have begun since the last flush. */
export const mostExtra = 4;

/** The end of a log: its youngest file by device and inode (empty if there is none), and that file's bytes. */
export type ReceivedEnd = Pick<ReceivedState, "file" | "size">;

/**
 * The files of a received log, while it is open. Full files stay open until they are flushed, and no file is removed
 * before its successor is durable. `write`, `rotate` and `prune` are called one after the other; `flush` at any time.
 */
export class ReceivedFiles {
  readonly #path: string;
  readonly #rotation: Rotation;
  #handle: FileHandle | undefined;
  /** Full and not flushed yet. */
  #full: FileHandle[] = [];
  #count: number;
  #hasYoungest: boolean;
  #end: ReceivedEnd;
  /** Bytes of the files before the present one. */
  #before = 0;

  private constructor(path: string, rotation: Rotation, end: ReceivedEnd, files: readonly LogFile[]) {
    this.#path = path;
    this.#rotation = rotation;
    this.#end = end;
    this.#count = files.length;
    this.#hasYoungest = files.at(-1)?.path === path;
  }

  /** Removes what was written behind the given end; everything if there is none. */
  static async open(path: string, rotation: Rotation, end: ReceivedEnd): Promise<ReceivedFiles> {
    await closeGaps(path, rotation.maxFiles + mostExtra + 1);
    if (end.file === "") await removeLog(path);
    else await takeBack(path, end);
    return new ReceivedFiles(path, rotation, end, await listLogFiles(path));
  }

  get end(): ReceivedEnd {
    return this.#end;
  }

  /** Bytes until the next file must begin; an empty file accepts anything. */
  get room(): number {
    return this.#end.size === 0 ? Number.POSITIVE_INFINITY : this.#rotation.maxBytes - this.#end.size;
  }

  /** Resolves when the bytes can be read. */
  async write(parts: readonly Buffer[]): Promise<void> {
    const handle = (this.#handle ??= await this.#open());
    await writeWhole(handle, parts);
    const written = parts.reduce((sum, part) => sum + part.length, 0);
    this.#end = { ...this.#end, size: this.#end.size + written };
  }

  /** Begins the next file, with a loss mark if the rotation asks for one. */
  async rotate(at: Instant): Promise<void> {
    this.#full.push((this.#handle ??= await this.#open()));
    this.#handle = undefined;
    this.#before += this.#end.size;
    for (let age = this.#count - 1; age >= 0; age--)
      await rename(fileOfAge(this.#path, age), fileOfAge(this.#path, age + 1));
    this.#hasYoungest = false;
    const before = this.#before;
    this.#handle = await this.#open();
    if (this.#rotation.marksLoss === true) await this.write([lossMark(before, at)]);
  }

  /** Resolves when everything written before is durable. Closes full files. */
  async flush(): Promise<void> {
    const full = this.#full.splice(0);
    const written = this.#handle === undefined ? full : [...full, this.#handle];
    try {
      await Promise.all(written.map((handle) => handle.datasync()));
    } finally {
      await Promise.allSettled(full.map((handle) => handle.close()));
    }
  }

  /** Removes the oldest files beyond the rotation's number and `extra`, at most `mostExtra`. */
  async prune(extra: number): Promise<void> {
    for (; this.#count > this.#rotation.maxFiles + extra; this.#count--)
      await unlink(fileOfAge(this.#path, this.#count - 1));
  }

  /** Flushes nothing. */
  async close(): Promise<void> {
    if (this.#handle !== undefined) this.#full.push(this.#handle);
    this.#handle = undefined;
    await Promise.allSettled(this.#full.splice(0).map((handle) => handle.close()));
  }

  /** Whether readers find the file that is written to. */
  async isThere(): Promise<boolean> {
    return this.#end.file === ((await lookAt(this.#path))?.id ?? "");
  }

  async #open(): Promise<FileHandle> {
    const handle = await openLogFile(this.#path);
    const found = await orClosed(handle, () => handle.stat({ bigint: true }));
    const size = Number(found.size);
    if (size > 0 && this.#rotation.marksLoss === true) this.#before = await orClosed(handle, () => bytesBefore(handle));
    this.#end = { file: `${found.dev}:${found.ino}`, size };
    if (!this.#hasYoungest) this.#count++;
    this.#hasYoungest = true;
    return handle;
  }
}

/** A crash during a rotation leaves a gap between ages. */
async function closeGaps(path: string, oldest: number): Promise<void> {
  let next = 0;
  for (let age = 0; age <= oldest; age++) {
    if ((await lookAt(fileOfAge(path, age))) === undefined) continue;
    if (age !== next) await moveFile(fileOfAge(path, age), fileOfAge(path, next));
    next++;
  }
}

/** Restores the state at that end: younger files are removed, and later bytes are cut off. */
async function takeBack(path: string, { file, size }: ReceivedEnd): Promise<void> {
  const files = await listLogFiles(path);
  const younger = files.length - 1 - files.findIndex(({ id }) => id === file);
  // Copied files have other inodes; their length counts all the same.
  if (younger > 0 && younger < files.length) {
    for (let age = 0; age < younger; age++) await removeFile(fileOfAge(path, age));
    for (let age = younger; age < files.length; age++)
      await moveFile(fileOfAge(path, age), fileOfAge(path, age - younger));
  }
  const own = await lookAt(path);
  if (own !== undefined && own.size > size) await truncate(path, size);
}
