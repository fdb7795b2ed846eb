import { open, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectories, exists } from "#lib/base/index.node.ts";
import { codeOf, serializer } from "#lib/base/index.ts";
import type { TaskMount } from "../../contract.ts";
import { hold, isForMounts, letGo, newHold } from "./held-directory.ts";

type Kind = "directory" | "file";

const mostTries = 10;

/**
 * Places on this machine where tasks mount something, each task in its own namespace. A missing place is created and
 * removed with its last user: removing it earlier would unmount it for others. Existing places and those that got
 * contents stay. Directories are shared with other processes, files are not. After a kill, they stay until the next
 * process is done with them.
 */
export class MountPoints {
  /** Number of mounting tasks by path. */
  readonly #users = new Map<string, number>();
  readonly #made = new Map<string, Kind>();
  readonly #hold = newHold();
  /** So that making for one task and removing for another do not overlap. */
  readonly #inTurn = serializer();

  /** Rejects with the system's error, for instance for a missing source; nothing is then held or to be released. */
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

  /** Never rejects. Called once per `acquire` when the task no longer uses its mounts. */
  release(mounts: readonly TaskMount[]): Promise<void> {
    return this.#inTurn(() => this.#release(mounts));
  }

  /** A directory is mounted on a directory, a file on a file. */
  async #make({ source, target }: TaskMount): Promise<void> {
    const isDirectory = (await stat(source)).isDirectory();
    await this.#makeDirectory(isDirectory ? target : dirname(target));
    if (isDirectory) return;
    if (!(await exists(target))) this.#made.set(target, "file");
    await (await open(target, "a")).close();
  }

  /** Another process may remove unused ones at the same moment. */
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
    // Inner ones first.
    for (const [path, kind] of left.sort(([a], [b]) => b.length - a.length)) {
      if ([...this.#users.keys()].some((target) => isWithin(target, path))) continue;
      this.#made.delete(path);
      // With new contents it stays.
      await (kind === "directory" ? letGo(path, this.#hold) : removeEmpty(path)).catch(() => undefined);
    }
  }
}

const isWithin = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`);

async function removeEmpty(path: string): Promise<void> {
  if ((await stat(path)).size === 0) await unlink(path);
}
