import { stat } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";

/** How a log is cut: the newest file keeps the log's own name, older ones are `.1` (younger) to `.4` (oldest). */
export interface Rotation {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

export const defaultRotation: Rotation = { maxBytes: 10 * 1024 * 1024, maxFiles: 5 };

/** No log has more files than this, whatever its rotation. */
const mostFiles = 100;

/** Name of the `age`-th file of a log; age 0 is being written. */
export const fileOfAge = (path: string, age: number): string => (age === 0 ? path : `${path}.${age}`);

/** Name of the index beside a log file. */
export const indexOf = (file: string): string => `${file}.idx`;

/** One file of a log as it stood when looked at. `id` stays the same when the file is renamed. */
export interface LogFile {
  readonly path: string;
  readonly id: string;
  readonly size: number;
}

/** The files of a log that exist, oldest first. */
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

export async function lookAt(path: string): Promise<LogFile | undefined> {
  try {
    const found = await stat(path, { bigint: true });
    return { path, id: `${found.dev}:${found.ino}`, size: Number(found.size) };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return undefined;
    throw thrown;
  }
}
