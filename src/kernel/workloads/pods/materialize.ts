import { chmod, chown, open, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { hasCode, type Instant, recover } from "#lib/base/index.ts";
import { makeDirectories, exists } from "#lib/base/index.node.ts";
import { type Task, type TaskMount, unmaskedWord } from "#kernel/runtimes/index.ts";
import type { PlannedTask } from "./container-task.ts";
import { holdPart, showFiles } from "./volume-files.ts";
import type { VolumeContent } from "./volumes.ts";

// Creates volumes and message files on disk. Everything may be repeated after a crash; files of containers are not
// touched.

/**
 * Makes a volume at `directory`; repeating it restores it. `now` names the version of its files. Throws if the host
 * lacks something or its disk is full. The files get `group`, which only root can do.
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
      // Containers of any user may write to it, as in Kubernetes.
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

/** A link, so that removing the pod's files does not touch the target. */
async function pointTo(path: string, link: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw new Error(`${path} is not a directory`);
  await makeDirectories(dirname(link));
  await symlink(path, link).catch(recover(hasCode("EEXIST"), undefined));
}

/** Kubernetes' types of hostPath; the empty one accepts anything. */
async function checkHostPath(path: string, type: string): Promise<void> {
  if (type === "DirectoryOrCreate") await makeDirectories(path, 0o755);
  if (type === "FileOrCreate") await (await open(path, "a", 0o644)).close();
  const found = await stat(path).catch(recover(hasCode("ENOENT"), undefined));
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
  // Kubernetes creates a missing directory for a path without type.
  if (found === undefined) await makeDirectories(path, 0o755);
}

/** Creates the message file and the mounts' sources; returns the task with real paths. Repeatable before it runs. */
export async function prepareTask(task: PlannedTask, message: string): Promise<Task> {
  const output = task.message === undefined ? message : unmaskedWord(task.message);
  await makeDirectories(dirname(output));
  await writeFile(output, "");
  if (task.user !== undefined) await chown(output, task.user.uid, task.user.gid);
  // The image's user is not known here.
  if (task.container !== undefined) await chmod(output, 0o666);
  if (task.mounts === undefined) return task;
  const mounts: TaskMount[] = [];
  for (const { within, part, ...mount } of task.mounts) {
    const source = await (part === undefined ? realSource(mount.source, within) : holdPart(mount.source, within, part));
    mounts.push({ ...mount, source });
  }
  return { ...task, mounts };
}

/** A mount's real source; a missing subPath becomes a directory. Links in the volume must not lead root out of it. */
async function realSource(source: string, within: string): Promise<string> {
  const root = await realpath(within);
  const check = async (path: string) => {
    const real = await realpath(path);
    if (real === root || real.startsWith(join(root, sep))) return real;
    throw new Error(`${relative(within, source)} leads out of its volume`);
  };
  await check(await lastExisting(source));
  await makeDirectories(source).catch(recover(hasCode("EEXIST"), undefined));
  return check(source);
}

/** The path or its nearest existing parent; a link counts as existing. */
async function lastExisting(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if (at === dirname(at) || (await exists(at))) return at;
  }
}
