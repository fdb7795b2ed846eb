import { chmod, chown, lstat, open, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { codeOf, type Instant } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type Task, type TaskMount, unmaskedWord } from "#kernel/runtimes/index.ts";
import type { PlannedTask } from "./container-task.ts";
import { holdPart, showFiles } from "./volume-files.ts";
import type { VolumeContent } from "./volumes.ts";

// The only place where volumes and message files are put on the disk. Everything may be done again after a crash in the middle:
// what is half made is made whole, and nothing that a container has written is touched.

/**
 * Makes a volume at `directory`, which nobody else uses. Repeating it makes it so again, also over files that this user may not
 * write to; `now` names the version of its files. Throws when the host has not what is asked for, or no room for it. What is made belongs to `group` as well, who may read
 * what its user may: only root can give files away, and whoever is not makes them for itself.
 */
export async function materializeVolume(
  content: VolumeContent,
  directory: string,
  now: Instant,
  group?: number,
): Promise<void> {
  switch (content.kind) {
    case "empty":
      await makeDirectories(directory);
      // Whoever the containers run as may write to it, as in Kubernetes.
      return chmod(directory, 0o777);
    case "files":
      await makeDirectories(directory);
      return showFiles(content.files, directory, now, group);
    case "claim":
      return pointTo(content.path, directory);
    case "host":
      return checkHostPath(content.path, content.type);
  }
}

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
export async function prepareTask(task: PlannedTask, message: string): Promise<Task> {
  const output = task.message === undefined ? message : unmaskedWord(task.message);
  await makeDirectories(dirname(output));
  await writeFile(output, "");
  if (task.user !== undefined) await chown(output, task.user.uid, task.user.gid);
  // Whom an image runs as is not known here.
  if (task.container !== undefined) await chmod(output, 0o666);
  if (task.mounts === undefined) return task;
  const mounts: TaskMount[] = [];
  for (const { within, part, ...mount } of task.mounts) {
    const source = await (part === undefined ? realSource(mount.source, within) : holdPart(mount.source, within, part));
    mounts.push({ ...mount, source });
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
