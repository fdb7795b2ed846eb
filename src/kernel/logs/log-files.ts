import { rm, stat } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";

// A log is a few files side by side. With the default rotation of `/l/0.log`:
//
//   0.log    being written          0.log.idx    its index, once it holds 256 records
//   0.log.1  the one before         0.log.1.idx
//   …
//   0.log.4  the oldest, removed when the next rotation needs its name

/** How a log is cut: the newest file keeps the log's own name, older ones are `.1` (younger) to `.4` (oldest). */
export interface Rotation {
  /**
   * A file is closed before the write that would exceed this. What was appended at once is never split, so a file can be longer by the
   * first of it.
   */
  readonly maxBytes: number;
  /** Files that are kept, the one being written included; 1 to 100. The log takes maxBytes * maxFiles on the disk. */
  readonly maxFiles: number;
  /**
   * Each file but the first begins with a line that says how much of the log came before it, so that whoever sees only what is kept
   * knows what is missing.
   */
  readonly marksLoss?: boolean;
}

/** What a kubelet keeps as well: 10 MiB, five files. */
export const defaultRotation: Rotation = { maxBytes: 10 * 1024 * 1024, maxFiles: 5 };

/** No log has more files than this, whatever its rotation. Bounds the look of readers, who are not told the rotation. */
const mostFiles = 100;

/** Name of the `age`-th file of a log; age 0 is being written. */
export const fileOfAge = (path: string, age: number): string => (age === 0 ? path : `${path}.${age}`);

/** Name of the index beside a log file. */
export const indexOf = (file: string): string => `${file}.idx`;

/** One file of a log as it stood when looked at. */
export interface LogFile {
  readonly path: string;
  /** Device and inode, `2049:131`: stays the same when the file is renamed, which is how a follower finds its place again. */
  readonly id: string;
  /** Bytes. What is appended later lies beyond it. */
  readonly size: number;
}

/**
 * The files of a log that exist, oldest first; none when nothing was printed. A rotation at the same moment may show one file
 * twice or miss one: who opens them compares ids.
 */
export async function listLogFiles(path: string): Promise<readonly LogFile[]> {
  const files: LogFile[] = [];
  for (let age = 0; age < mostFiles; age++) {
    const file = await lookAt(fileOfAge(path, age));
    // While a log is being rotated its newest file is missing for a moment.
    if (file === undefined && age > 0) break;
    if (file !== undefined) files.unshift(file);
  }
  return files;
}

/** One file; undefined when it, or a directory above it, does not exist. Other failures are thrown. */
export async function lookAt(path: string): Promise<LogFile | undefined> {
  try {
    const found = await stat(path, { bigint: true });
    return { path, id: `${found.dev}:${found.ino}`, size: Number(found.size) };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return undefined;
    throw thrown;
  }
}

/** Removes a log with all its files and indexes. No writer may have it open; a log that does not exist is no error. */
export async function removeLog(path: string): Promise<void> {
  for (let age = 0; age < mostFiles; age++) {
    const file = fileOfAge(path, age);
    await rm(indexOf(file), { force: true });
    // Files have no gaps between their ages, but for the newest, which is missing when its first write never came.
    if (age > 0 && (await lookAt(file)) === undefined) return;
    await rm(file, { force: true });
  }
}
