import { open, stat, unlink, readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { exists, makeDirectories, identityOf, isAlive } from "#lib/base/index.node.ts";
import { codeOf, serializer } from "#lib/base/index.ts";
import type { TaskMount } from "../../contract.ts";

type Kind = "directory" | "file";

const mostTries = 10;

/**
 * Directories and files on which tasks mount, each in its own namespace. Missing ones are created empty and removed
 * with the last task that uses them, because removal unmounts them everywhere. Existing ones, and those that got
 * content, stay. Directories are shared with other processes, files are not. What a killed process created stays until
 * the next user is done with it.
 */
export class MountPoints {
  readonly #users = new Map<string, number>();
  readonly #made = new Map<string, Kind>();
  readonly #hold = newHold();
  /** Creating and removing must not overlap. */
  readonly #inTurn = serializer();

  /** Rejects with the system's error; then nothing is held and `release` must not be called. */
  acquire(mounts: readonly TaskMount[]): Promise<void> {
    return this.#inTurn(async () => {
      for (const { target } of mounts) this.#users.set(target, (this.#users.get(target) ?? 0) + 1);
      try {
        for (const mount of mounts) await this.#make(mount);
      } catch (thrown) {
        await this.#release(mounts);
        throw thrown;
      }
    });
  }

  /** Never rejects. Call it once for each `acquire`, when the task's mounts are no longer used. */
  release(mounts: readonly TaskMount[]): Promise<void> {
    return this.#inTurn(() => this.#release(mounts));
  }

  async #make({ source, target }: TaskMount): Promise<void> {
    const isDirectory = (await stat(source)).isDirectory();
    await this.#makeDirectory(isDirectory ? target : dirname(target));
    if (isDirectory) return;
    if (!(await exists(target))) this.#made.set(target, "file");
    await (await open(target, "a")).close();
  }

  /** Another process may remove a directory meanwhile. */
  async #makeDirectory(directory: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const ours: string[] = [];
      for (let path = directory; path !== dirname(path) && (await isForMounts(path)); path = dirname(path))
        ours.push(path);
      for (const path of ours) this.#made.set(path, "directory");
      try {
        for (const path of ours.toReversed()) await hold(path, this.#hold);
        return await makeDirectories(directory);
      } catch (thrown) {
        if (codeOf(thrown) !== "ENOENT" || tries === mostTries) throw thrown;
      }
    }
  }

  async #release(mounts: readonly TaskMount[]): Promise<void> {
    for (const { target } of mounts) {
      const users = (this.#users.get(target) ?? 0) - 1;
      if (users > 0) this.#users.set(target, users);
      else this.#users.delete(target);
    }
    const left = [...this.#made].filter(([path]) => mounts.some(({ target }) => isWithin(target, path)));
    // Inner paths first.
    for (const [path, kind] of left.sort(([a], [b]) => b.length - a.length)) {
      if ([...this.#users.keys()].some((target) => isWithin(target, path))) continue;
      this.#made.delete(path);
      // A directory with content stays.
      await (kind === "directory" ? letGo(path, this.#hold) : removeEmpty(path)).catch(() => undefined);
    }
  }
}

const isWithin = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`);

async function removeEmpty(path: string): Promise<void> {
  if ((await stat(path)).size === 0) await unlink(path);
}

// Several processes (servers, runners, tests) may mount on a directory that one of them created, and removing it
// unmounts it for all. So each leaves an empty file in it, hidden by the mount: while one is there, rmdir fails.

const prefix = ".slipway-mounted";
let count = 0;

/** A new file name that identifies this process as a user of a directory. */
function newHold(): string {
  const { pid, startTicks = "", boot = "" } = identityOf(process.pid);
  return [prefix, pid, startTicks, boot, ++count].join(".");
}

/** Whether a directory is missing or exists for mounts alone. One that cannot be read belongs to others. */
async function isForMounts(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).some((name) => name.startsWith(`${prefix}.`));
  } catch (thrown) {
    // It, or a parent, is not a directory.
    return codeOf(thrown) === "ENOENT" || (codeOf(thrown) === "ENOTDIR" && !(await isThere(path)));
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Creates the directory if missing and marks it as used. Rejects with ENOENT if its parent is removed. */
async function hold(path: string, own: string): Promise<void> {
  await makeDirectories(path);
  await (await open(join(path, own), "a")).close();
}

/** Removes the directory unless living processes use it or something else is in it. */
async function letGo(path: string, own: string): Promise<void> {
  for (const name of await readdir(path))
    if (name === own || isLeftBehind(name)) await rm(join(path, name), { force: true });
  await rmdir(path);
}

function isLeftBehind(name: string): boolean {
  const [, pid, startTicks, boot] = /^\.slipway-mounted\.(\d+)\.(\d+)\.([^.]+)\.\d+$/.exec(name) ?? [];
  if (pid === undefined || startTicks === undefined || boot === undefined) return false;
  return !isAlive({ pid: Number(pid), startTicks, boot });
}
