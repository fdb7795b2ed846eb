import { chmod, chown, mkdir, open, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import type { Task, TaskMount } from "#kernel/runtimes/index.ts";
import type { VolumeContent } from "./volumes.ts";

/** Makes a volume at `directory`. Repeating it writes the same again. Throws when the host has not what is asked for. */
export async function materializeVolume(content: VolumeContent, directory: string): Promise<void> {
  switch (content.kind) {
    case "empty":
      await mkdir(directory, { recursive: true });
      // Whoever the containers run as may write to it, as in Kubernetes.
      return chmod(directory, 0o777);
    case "files":
      await mkdir(directory, { recursive: true });
      for (const file of content.files) {
        const path = join(directory, file.path);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, file.data);
        // The mode given to writeFile is narrowed by the umask.
        await chmod(path, file.mode);
      }
      return;
    case "host":
      return checkHostPath(content.path, content.type);
  }
}

async function checkHostPath(path: string, type: string): Promise<void> {
  if (type === "DirectoryOrCreate") await mkdir(path, { recursive: true, mode: 0o755 });
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
  if (found === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
}

/** Makes the file for a container's termination message, empty, and what its mounts point to inside of volumes. */
export async function prepareTask(task: Task, output: string): Promise<void> {
  await mkdir(dirname(output), { recursive: true });
  await writeFile(output, "");
  if (task.user !== undefined) await chown(output, task.user.uid, task.user.gid);
  for (const mount of task.mounts ?? []) await ensureSource(mount);
}

// A subPath that does not exist becomes a directory.
async function ensureSource(mount: TaskMount): Promise<void> {
  await mkdir(mount.source, { recursive: true }).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  });
}
