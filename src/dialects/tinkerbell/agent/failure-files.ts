import { constants } from "node:fs";
import { chmod, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectories } from "#lib/base/index.node.ts";
import { longestMessage } from "./failure.ts";

/** The two files in which an action may say why it failed, on this machine. */
export interface FailureFiles {
  readonly reason: string;
  readonly message: string;
}

/** Their names in a directory of the execution's own, which containers see under `/tinkerbell`. */
export const failureFilesIn = (directory: string): FailureFiles => ({
  reason: join(directory, "failure-reason"),
  message: join(directory, "failure-message"),
});

/** Makes them, empty; whoever the action runs as can write them. */
export async function makeFailureFiles(directory: string): Promise<FailureFiles> {
  const files = failureFilesIn(directory);
  await makeDirectories(directory, 0o700);
  for (const file of [files.reason, files.message]) {
    await writeFile(file, "");
    // What the umask has taken off.
    await chmod(file, 0o666);
  }
  return files;
}

/** What the action has left in them. */
export async function readFailureFiles(
  files: FailureFiles,
): Promise<{ readonly reason: string; readonly message: string }> {
  const [reason, message] = await Promise.all([readBeginning(files.reason), readBeginning(files.message)]);
  return { reason, message };
}

/**
 * The beginning of a file, which an action may have replaced by anything: a link to a file it could not read itself, a pipe that never
 * ends. Everything but a plain file counts as empty.
 */
async function readBeginning(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return "";
      // Newlines at the end are not counted: a little more is read than is shown.
      const { buffer, bytesRead } = await file.read(Buffer.alloc(longestMessage + 4), 0, longestMessage + 4, 0);
      return new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: true });
    } finally {
      await file.close();
    }
  } catch {
    // Deleted, or a link: the action has taken back what it had to say.
    return "";
  }
}
