import { chmod, chown, open, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import type { Task, TaskMount } from "#kernel/runtimes/index.ts";
import type { VolumeContent } from "./volumes.ts";

// The only place where volumes and message files are put on the disk. Everything may be done again after a crash in the middle:
// what is half made is made whole, and nothing that a container has written is touched.

/**
 * Makes a volume at `directory`, which nobody else uses. Repeating it writes the same again, also over files that this user may not
 * write to. Throws when the host has not what is asked for, or no room for it.
 */
export async function materializeVolume(content: VolumeContent, directory: string): Promise<void> {
  switch (content.kind) {
    case "empty":
      await makeDirectories(directory);
      // Whoever the containers run as may write to it, as in Kubernetes.
      return chmod(directory, 0o777);
    case "files":
      await makeDirectories(directory);
      for (const file of content.files) {
        const path = join(directory, file.path);
        await makeDirectories(dirname(path));
        await rm(path, { force: true });
        // For nobody else at first: it may be a secret, and the mode given here is only narrowed by the umask.
        await writeFile(path, file.data, { mode: 0o600 });
        await chmod(path, file.mode);
      }
      return;
    case "host":
      return checkHostPath(content.path, content.type);
  }
}

/** Kubernetes' types of hostPath: the empty one takes anything and makes a directory of nothing; the `…OrCreate` make theirs. */
async function checkHostPath(path: string, type: string): Promise<void> {
  if (type === "DirectoryOrCreate") await makeDirectories(path, 0o755);
  if (type === "FileOrCreate") await (await open(path, "a", 0o644)).close();
  const found = await stat(path).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
  const fits: Readonly<Record<string, boolean | undefined>> = {
    "": true,
    Directory: found?.isDirectory(),
    DirectoryOrCreate: found?.isDirectory(),
    File: found?.isFile(),
    FileOrCreate: found?.isFile(),
    Socket: found?.isSocket(),
    CharDevice: found?.isCharacterDevice(),
    BlockDevice: found?.isBlockDevice(),
  };
  if (fits[type] !== true) throw new Error(`hostPath type check failed: ${path} is not a ${type}`);
  // Kubernetes makes a missing directory for a path without type.
  if (found === undefined) await makeDirectories(path, 0o755);
}

/**
 * Makes the file for a container's termination message, empty and the task's user's own, and what its mounts point to inside of
 * volumes. Repeating it before the task runs changes nothing.
 */
export async function prepareTask(task: Task, output: string): Promise<void> {
  await makeDirectories(dirname(output));
  await writeFile(output, "");
  if (task.user !== undefined) await chown(output, task.user.uid, task.user.gid);
  // Whom an image runs as is not known here.
  if (task.container !== undefined) await chmod(output, 0o666);
  for (const mount of task.mounts ?? []) await ensureSource(mount);
}

// A subPath that does not exist becomes a directory.
async function ensureSource(mount: TaskMount): Promise<void> {
  await makeDirectories(mount.source).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  });
}
