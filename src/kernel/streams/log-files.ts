import { rm, stat } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";

// Files of a log, with the default rotation of `/l/0.log`: 0.log is being written, 0.log.1 to 0.log.4 are older, each
// with an index (0.log.idx) once it holds 256 records.

export interface Rotation {
  /** A file is closed before a write that would exceed this. An append is never split, even if it is longer. */
  readonly maxBytes: number;
  /** Files kept, with the one being written; 1 to 100. */
  readonly maxFiles: number;
  /** Each file but the first begins with a line that says how much of the log came before it. */
  readonly marksLoss?: boolean;
}

/** A kubelet's defaults. */
export const defaultRotation: Rotation = { maxBytes: 10 * 1024 * 1024, maxFiles: 5 };

/** Bounds the search of readers, who do not know the rotation. */
const mostFiles = 100;

/** Age 0 is being written. */
export const fileOfAge = (path: string, age: number): string => (age === 0 ? path : `${path}.${age}`);
export const indexOf = (file: string): string => `${file}.idx`;

/** One file of a log as it was when looked at. */
export interface LogFile {
  readonly path: string;
  /** Device and inode, `2049:131`: a follower finds a renamed file by it. */
  readonly id: string;
  /** Bytes. */
  readonly size: number;
}

/** A log's files, oldest first. A rotation may show a file twice or not at all: compare ids after opening. */
export async function listLogFiles(path: string): Promise<readonly LogFile[]> {
  const files: LogFile[] = [];
  for (let age = 0; age < mostFiles; age++) {
    const file = await lookAt(fileOfAge(path, age));
    // During a rotation the newest file is missing for a moment.
    if (file === undefined && age > 0) break;
    if (file !== undefined) files.unshift(file);
  }
  return files;
}

/** Undefined if the file, or a directory above it, does not exist. */
export async function lookAt(path: string): Promise<LogFile | undefined> {
  try {
    const found = await stat(path, { bigint: true });
    return { path, id: `${found.dev}:${found.ino}`, size: Number(found.size) };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return undefined;
    throw thrown;
  }
}

/** Removes a log with all files and indexes. No writer may have it open. */
export async function removeLog(path: string): Promise<void> {
  for (let age = 0; age < mostFiles; age++) {
    const file = fileOfAge(path, age);
    await rm(indexOf(file), { force: true });
    // Only the newest file may be missing.
    if (age > 0 && (await lookAt(file)) === undefined) return;
    await rm(file, { force: true });
  }
}
