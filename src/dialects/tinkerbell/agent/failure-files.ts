import { constants } from "node:fs";
import { chmod, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectories } from "#lib/base/index.node.ts";
import { longestMessage } from "./failure.ts";

export interface FailureFiles {
  readonly reason: string;
  readonly message: string;
}

/** In the execution's own directory, which containers see as `/tinkerbell`. */
export const failureFilesIn = (directory: string): FailureFiles => ({
  reason: join(directory, "failure-reason"),
  message: join(directory, "failure-message"),
});

export async function makeFailureFiles(directory: string): Promise<FailureFiles> {
  const files = failureFilesIn(directory);
  await makeDirectories(directory, 0o700);
  for (const file of [files.reason, files.message]) {
    await writeFile(file, "");
    // Undoes the umask.
    await chmod(file, 0o666);
  }
  return files;
}

export async function readFailureFiles(
  files: FailureFiles,
): Promise<{ readonly reason: string; readonly message: string }> {
  const [reason, message] = await Promise.all([readBeginning(files.reason), readBeginning(files.message)]);
  return { reason, message };
}

/** The beginning of a plain file; anything else, such as a link or a pipe, counts as empty. */
async function readBeginning(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return "";
      // A little more than is shown, because trailing newlines are dropped.
      const { buffer, bytesRead } = await file.read(Buffer.alloc(longestMessage + 4), 0, longestMessage + 4, 0);
      return new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: true });
    } finally {
      await file.close();
    }
  } catch {
    // Deleted, or replaced by a link.
    return "";
  }
}
