import { open, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectories, exists } from "#lib/base/index.node.ts";
import { codeOf, serializer } from "#lib/base/index.ts";
import type { TaskMount } from "../../contract.ts";
import { hold, isForMounts, letGo, newHold } from "./held-directory.ts";

type Kind = "directory" | "file";

const mostTries = 10;

/**
 * Places of this machine on which tasks have something mounted, each in a namespace of its own. A place that is missing is made, empty, and
 * goes with the last task that uses it: removing it earlier would take the mount away from the others. One that was there before, or
 * has got a content, stays. Directories are shared with other processes that do the same; files are not. When this process is killed, what it has
 * made stays until the next one is done with it.
 */
export class MountPoints {
  /** How many tasks mount something there, by path. */
  readonly #users = new Map<string, number>();
  readonly #made = new Map<string, Kind>();
  readonly #hold = newHold();
  /** What is made for one task must not be removed for another at the same moment. */
  readonly #inTurn = serializer();

  /** Rejects with what the system says, for instance when a source does not exist; then nothing is held, and `release` is not due. */
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

  /** Never rejects. Due once for each `acquire`, when nothing of the task uses its mounts any more. */
  release(mounts: readonly TaskMount[]): Promise<void> {
    return this.#inTurn(() => this.#release(mounts));
  }

  /** On a directory goes a directory, on a file a file. */
  async #make({ source, target }: TaskMount): Promise<void> {
    const isDirectory = (await stat(source)).isDirectory();
    await this.#makeDirectory(isDirectory ? target : dirname(target));
    if (isDirectory) return;
    if (!(await exists(target))) this.#made.set(target, "file");
    await (await open(target, "a")).close();
  }

  /** Another process may remove at the same moment what it has no use for any more. */
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
    // What lies inside of another one first.
    for (const [path, kind] of left.sort(([a], [b]) => b.length - a.length)) {
      if ([...this.#users.keys()].some((target) => isWithin(target, path))) continue;
      this.#made.delete(path);
      // Whoever has put something there meanwhile keeps it.
      await (kind === "directory" ? letGo(path, this.#hold) : removeEmpty(path)).catch(() => undefined);
    }
  }
}

const isWithin = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`);

async function removeEmpty(path: string): Promise<void> {
  if ((await stat(path)).size === 0) await unlink(path);
}
