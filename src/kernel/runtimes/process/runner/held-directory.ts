import { open, readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { identityOf, isAlive, makeDirectories } from "#lib/base/index.node.ts";
import { codeOf } from "#lib/base/index.ts";

// A directory that was made to have something mounted on it may be used by several processes: servers, their runners, tests. To remove it takes the
// mount away from all of them, in whatever namespace it is. So each that uses it leaves an empty file in it, which is hidden by the mount: while one is
// there the system does not remove the directory.

const prefix = ".slipway-mounted";
let count = 0;

/** The name of a file by which this process says that it uses a directory; another one each time. */
export function newHold(): string {
  const { pid, startTicks = "", boot = "" } = identityOf(process.pid);
  return [prefix, pid, startTicks, boot, ++count].join(".");
}

/** Whether a directory is there for mounts alone, or not there. One that cannot be looked into is somebody's. */
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

/** Makes the directory where it is missing, and says that it is used. Its parent may go at the same moment: then it rejects with ENOENT. */
export async function hold(path: string, own: string): Promise<void> {
  await makeDirectories(path);
  await (await open(join(path, own), "a")).close();
}

/** Removes the directory unless others use it, or have put something there. Those that were killed do not count. */
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
