import { createHash } from "node:crypto";
import { chmod, lstat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SlipwayError } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";

/** A runner's files, in one directory that only its user may enter. */
export interface RunnerPaths {
  readonly directory: string;
  /** Tasks and their outcomes, for the next runner. */
  readonly journal: string;
  readonly lock: string;
  readonly log: string;
  /** In the directory if the path is short enough for the kernel, else under the system's temporary directory. */
  readonly socket: string;
}

// The kernel's limit is 108 bytes on Linux and 104 on macOS, the final zero included.
const longestSocketPath = 100;

/** Server and runner share an environment and so compute the same paths. */
export function runnerPaths(directory: string): RunnerPaths {
  const near = join(directory, "runner.sock");
  const far = join(
    tmpdir(),
    `slipway-${createHash("sha256").update(directory).digest("hex").slice(0, 24)}`,
    "runner.sock",
  );
  return {
    directory,
    journal: join(directory, "journal"),
    lock: join(directory, "runner.lock"),
    log: join(directory, "runner.log"),
    socket: Buffer.byteLength(near) > longestSocketPath ? far : near,
  };
}

/** Creates a runner's directories with mode 0700. Refuses those of other users, who can guess names in /tmp. */
export async function ensureRunnerDirectories(paths: RunnerPaths): Promise<void> {
  for (const directory of new Set([paths.directory, dirname(paths.socket)])) {
    await makeDirectories(directory, 0o700);
    const found = await lstat(directory);
    if (!found.isDirectory() || found.uid !== process.getuid?.()) {
      throw new SlipwayError("runner-directory", `${directory} belongs to another user or is not a directory`);
    }
    if ((found.mode & 0o077) !== 0) await chmod(directory, 0o700);
  }
}
