import { chmod, chown, lstat, open, realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import type { Task, TaskMount } from "#kernel/runtimes/index.ts";
import type { PlannedTask } from "./container-task.ts";
import type { VolumeContent } from "./volumes.ts";

// The only place where volumes and message files are put on the disk. Everything may be done again after a crash in the middle:
// what is half made is made whole, and nothing that a container has written is touched.

/**
 * Makes a volume at `directory`, which nobody else uses. Repeating it writes the same again, also over files that this user may not
 * write to. Throws when the host has not what is asked for, or no room for it. What is made belongs to `group` as well, who may read
 * what its user may: only root can give files away, and whoever is not makes them for itself.
 */
export async function materializeVolume(content: VolumeContent, directory: string, group?: number): Promise<void> {
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
        // Whoever reads it meanwhile has the old one or the new one, whole.
        const draft = join(dirname(path), `..${basename(path)}`);
        await rm(draft, { force: true });
        // For nobody else at first: it may be a secret, and the mode given here is only narrowed by the umask.
        await writeFile(draft, file.data, { mode: 0o600 });
        await chmod(draft, group === undefined ? file.mode : file.mode | groupMayRead);
        if (group !== undefined) await chown(draft, 0, group);
        await rename(draft, path);
      }
      return;
    case "claim":
      return pointTo(content.path, directory);
    case "host":
      return checkHostPath(content.path, content.type);
  }
}

const groupMayRead = 0o440;

/** A pod's own name for what is not its own: removing the pod's things removes the name. */
async function pointTo(path: string, link: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw new Error(`${path} is not a directory`);
  await makeDirectories(dirname(link));
  await symlink(path, link).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  });
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
 * volumes; the task then has the real paths of them. Repeating it before the task runs changes nothing.
 */
export async function prepareTask(task: PlannedTask, output: string): Promise<Task> {
  await makeDirectories(dirname(output));
  await writeFile(output, "");
  if (task.user !== undefined) await chown(output, task.user.uid, task.user.gid);
  // Whom an image runs as is not known here.
  if (task.container !== undefined) await chmod(output, 0o666);
  if (task.mounts === undefined) return task;
  const mounts: TaskMount[] = [];
  for (const { within, ...mount } of task.mounts) {
    mounts.push({ ...mount, source: await realSource(mount.source, within) });
  }
  return { ...task, mounts };
}

/**
 * Where a mount really comes from; a subPath that does not exist becomes a directory. What containers have put into a volume may be
 * links to anywhere, and whoever follows them here does so as root of this machine: none may lead out of the volume.
 */
async function realSource(source: string, within: string): Promise<string> {
  const root = await realpath(within);
  const check = async (path: string) => {
    const real = await realpath(path);
    if (real === root || real.startsWith(join(root, sep))) return real;
    throw new Error(`${relative(within, source)} leads out of its volume`);
  };
  await check(await lastExisting(source));
  await makeDirectories(source).catch((thrown: unknown) => {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  });
  return check(source);
}

/** The path itself or the nearest directory above it that is there; a link counts as there, wherever it leads. */
async function lastExisting(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const isThere = await lstat(at).then(
      () => true,
      () => false,
    );
    if (isThere || at === dirname(at)) return at;
  }
}
