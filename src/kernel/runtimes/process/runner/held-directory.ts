import { open, readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { identityOf, isAlive, makeDirectories } from "#lib/base/index.node.ts";
import { codeOf } from "#lib/base/index.ts";

// A directory made for mounts may be shared by several processes (servers, runners, tests), and removing it takes the
// mounts away from all. So each user leaves an empty file in it, hidden by the mount: the system does not remove a
// directory that has one.

const prefix = ".slipway-mounted";
let count = 0;

/** A new name of a file that marks a directory as used by this process. */
export function newHold(): string {
  const { pid, startTicks = "", boot = "" } = identityOf(process.pid);
  return [prefix, pid, startTicks, boot, ++count].join(".");
}

/** Whether a directory exists for mounts only, or not at all. Unreadable ones belong to somebody. */
export async function isForMounts(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).some((name) => name.startsWith(`${prefix}.`));
  } catch (thrown) {
    // ENOTDIR: it is something else, or below something else.
    return codeOf(thrown) === "ENOENT" || (codeOf(thrown) === "ENOTDIR" && !(await isThere(path)));
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Makes the directory if missing and marks it as used. Rejects with ENOENT if its parent is removed meanwhile. */
export async function hold(path: string, own: string): Promise<void> {
  await makeDirectories(path);
  await (await open(join(path, own), "a")).close();
}

/** Removes the directory unless living processes use it or it has other contents. */
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
