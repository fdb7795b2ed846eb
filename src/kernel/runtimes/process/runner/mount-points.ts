import { open, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { exists, makeDirectories } from "#lib/base/index.node.ts";
import { codeOf, serializer } from "#lib/base/index.ts";
import type { TaskMount } from "../../contract.ts";
import { hold, isForMounts, letGo, newHold } from "./held-directory.ts";

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
