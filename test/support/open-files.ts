import { readdir, readlink } from "node:fs/promises";

/** Files below a directory that this process has open, by their paths; none where the system does not tell. */
export async function openFilesBelow(directory: string): Promise<readonly string[]> {
  const names = await readdir("/proc/self/fd").catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return targets.filter((target) => target.startsWith(`${directory}/`));
}
