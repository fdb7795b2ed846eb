import { type FileHandle, open, rename, truncate, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, type Instant } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { fileOfAge, listLogFiles, type LogFile, lookAt, removeLog, type Rotation } from "./log-files.ts";
import { bytesBefore, lossMark } from "./loss-mark.ts";
import { orClosed } from "./or-closed.ts";
import type { ReceivedState } from "./received-state.ts";
import { moveFile, removeFile, writeWhole } from "./rotate.ts";

/** So many files may have begun since the last flush. */
export const mostExtra = 4;

/** Where a log ends: its youngest file by device and inode, empty before the first one, and that file's bytes. */
export type ReceivedEnd = Pick<ReceivedState, "file" | "size">;

/**
 * The files of a log that somebody sends, while it is open. A file is no longer written to when the next one begins, and stays open until it is
 * flushed. None is removed before what has taken its place is durable: until then there are more files than the rotation asks for.
 *
 * `write`, `rotate` and `prune` are called one after the other; `flush` at any time, beside them.
 */
export class ReceivedFiles {
  readonly #path: string;
  readonly #rotation: Rotation;
  #handle: FileHandle | undefined;
  /** Whole, and not flushed since. */
  #full: FileHandle[] = [];
  /** Files that there are, the youngest included if it is there. */
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

  /** Takes back what was written behind the end that is told; all there is for a log of which nothing is known. */
  static async open(path: string, rotation: Rotation, end: ReceivedEnd): Promise<ReceivedFiles> {
    await closeGaps(path, rotation.maxFiles + mostExtra + 1);
    if (end.file === "") await removeLog(path);
    else await takeBack(path, end);
    return new ReceivedFiles(path, rotation, end, await listLogFiles(path));
  }

  /** What was written so far. */
  get end(): ReceivedEnd {
    return this.#end;
  }

  /** Bytes that the present file takes before the next one has to begin; an empty one takes anything. */
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

  /** Begins the next file, with a line of that time about what came before it where the rotation wants one. */
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

  /** Resolves when no crash can undo what was written before. Files that are whole are closed then. */
  async flush(): Promise<void> {
    const full = this.#full.splice(0);
    const written = this.#handle === undefined ? full : [...full, this.#handle];
    try {
      await Promise.all(written.map((handle) => handle.datasync()));
    } finally {
      await Promise.allSettled(full.map((handle) => handle.close()));
    }
  }

  /** Removes the oldest until there are as many as the rotation asks for and `extra` more, which are at most `mostExtra`. */
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

  /** Whether the file that is written to is the one that readers find. */
  async isThere(): Promise<boolean> {
    return this.#end.file === ((await lookAt(this.#path))?.id ?? "");
  }

  /** Readable by its owner's group, as all logs are. Directories are made where they are missing. */
  async #open(): Promise<FileHandle> {
    const handle = await open(this.#path, "a+", 0o640).catch(async (thrown: unknown) => {
      if (codeOf(thrown) !== "ENOENT") throw thrown;
      await makeDirectories(dirname(this.#path), 0o750);
      return open(this.#path, "a+", 0o640);
    });
    const found = await orClosed(handle, () => handle.stat({ bigint: true }));
    const size = Number(found.size);
    if (size > 0 && this.#rotation.marksLoss === true) this.#before = await orClosed(handle, () => bytesBefore(handle));
    this.#end = { file: `${found.dev}:${found.ino}`, size };
    if (!this.#hasYoungest) this.#count++;
    this.#hasYoungest = true;
    return handle;
  }
}

/** A crash in the middle of a rotation leaves an age that no file has. */
async function closeGaps(path: string, oldest: number): Promise<void> {
  let next = 0;
  for (let age = 0; age <= oldest; age++) {
    if ((await lookAt(fileOfAge(path, age))) === undefined) continue;
    if (age !== next) await moveFile(fileOfAge(path, age), fileOfAge(path, next));
    next++;
  }
}

/** The files as they were when the log ended there: younger ones are removed, and what was added to its own is cut off. */
async function takeBack(path: string, { file, size }: ReceivedEnd): Promise<void> {
  const files = await listLogFiles(path);
  const younger = files.length - 1 - files.findIndex(({ id }) => id === file);
  // Files that were copied from elsewhere have other names to the disk; their length is looked at all the same.
  if (younger > 0 && younger < files.length) {
    for (let age = 0; age < younger; age++) await removeFile(fileOfAge(path, age));
    for (let age = younger; age < files.length; age++)
      await moveFile(fileOfAge(path, age), fileOfAge(path, age - younger));
  }
  const own = await lookAt(path);
  if (own !== undefined && own.size > size) await truncate(path, size);
}
