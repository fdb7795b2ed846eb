import { open, readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { identityOf, isAlive, makeDirectories } from "#lib/base/index.node.ts";
import { codeOf } from "#lib/base/index.ts";

// Several processes (servers, runners, tests) may mount on a directory that one of them created, and removing it
// unmounts it for all. So each leaves an empty file in it, hidden by the mount: while one is there, rmdir fails.

const prefix = ".slipway-mounted";
let count = 0;

/** A new file name that identifies this process as a user of a directory. */
export function newHold(): string {
  const { pid, startTicks = "", boot = "" } = identityOf(process.pid);
  return [prefix, pid, startTicks, boot, ++count].join(".");
}

/** Whether a directory is missing or exists for mounts alone. One that cannot be read belongs to others. */
export async function isForMounts(path: string): Promise<boolean> {
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
export async function hold(path: string, own: string): Promise<void> {
  await makeDirectories(path);
  await (await open(join(path, own), "a")).close();
}

/** Removes the directory unless living processes use it or something else is in it. */
export async function letGo(path: string, own: string): Promise<void> {
  for (const name of await readdir(path))
    if (name === own || isLeftBehind(name)) await rm(join(path, name), { force: true });
  await rmdir(path);
}

function isLeftBehind(name: string): boolean {
  const [, pid, startTicks, boot] = /^\.slipway-mounted\.(\d+)\.(\d+)\.([^.]+)\.\d+$/.exec(name) ?? [];
  if (pid === undefined || startTicks === undefined || boot === undefined) return false;
  return !isAlive({ pid: Number(pid), startTicks, boot });
}
