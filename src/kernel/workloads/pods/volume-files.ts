import { chmod, chown, link, lstat, mkdtemp, readdir, readFile, readlink } from "node:fs/promises";
import { realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, posix, sep } from "node:path";
import { codeOf, formatInstant, hasCode, type Instant, recover } from "#lib/base/index.ts";
import { makeDirectories, exists } from "#lib/base/index.node.ts";
import type { VolumeFile } from "./volumes.ts";

// Files made of objects, laid out as in Kubernetes, so that whoever reads several of them through `..data` has one
// version of all:
//
//   <volume>/..2026_11_22_09_09_29.x1Y2z3/   the files of one version
//   <volume>/..data                          a link to the present version, which is replaced at once
//   <volume>/<name>                          a link to ..data/<name>, for every first part of a path

const present = "..data";
const groupMayRead = 0o440;

/** Replaces a volume's content with `files` as a whole, completing a crashed try. Rejects if the directory is gone. */
export async function showFiles(
  files: readonly VolumeFile[],
  directory: string,
  now: Instant,
  group?: number,
): Promise<void> {
  const wanted = new Map(files.map((file) => [posix.normalize(file.path), withGroup(file, group)]));
  const old = await readlink(join(directory, present)).catch(() => undefined);
  const version =
    old !== undefined && (await holds(join(directory, old), wanted, group))
      ? old
      : await writeVersion(wanted, directory, now, group);
  if (version !== old) await pointLink(version, join(directory, present));
  const names = new Set([...wanted.keys()].map((path) => path.split("/", 1)[0] ?? path));
  for (const name of names) {
    const path = join(directory, name);
    const target = join(present, name);
    if ((await readlink(path).catch(() => undefined)) !== target) await pointLink(target, path);
  }
  await removeOthers(directory, new Set([...names, present, version]));
}

const withGroup = (file: VolumeFile, group: number | undefined): VolumeFile =>
  group === undefined ? file : { ...file, mode: file.mode | groupMayRead };

type Files = ReadonlyMap<string, VolumeFile>;

async function holds(version: string, wanted: Files, group: number | undefined): Promise<boolean> {
  try {
    const entries = await readdir(version, { recursive: true, withFileTypes: true });
    if (entries.filter((entry) => !entry.isDirectory()).length !== wanted.size) return false;
    for (const [path, { data, mode }] of wanted) {
      const found = await lstat(join(version, path));
      if (!found.isFile() || (found.mode & 0o7777) !== mode || found.size !== data.length) return false;
      if (group !== undefined && found.gid !== group) return false;
      if (!data.equals(await readFile(join(version, path)))) return false;
    }
    return true;
  } catch {
    return false;
  }
}

/** Nothing is left of a directory that cannot be completed. */
async function writeVersion(files: Files, directory: string, now: Instant, group?: number): Promise<string> {
  const time = formatInstant(now).slice(0, 19).replace(/[-T:]/g, "_");
  const version = await mkdtemp(join(directory, `..${time}.`));
  try {
    for (const [path, file] of files) await writeOne(join(version, path), file, group);
    await chmod(version, 0o755);
  } catch (thrown) {
    await rm(version, { recursive: true, force: true });
    throw thrown;
  }
  return basename(version);
}

async function writeOne(path: string, { data, mode }: VolumeFile, group: number | undefined): Promise<void> {
  await makeDirectories(dirname(path));
  // Private at first: it may be a secret, and the umask would narrow the mode.
  await writeFile(path, data, { mode: 0o600, flag: "wx" });
  await chmod(path, mode);
  if (group !== undefined) await chown(path, 0, group);
}

/** Readers of the link see the old or the new target. */
async function pointLink(target: string, path: string): Promise<void> {
  const draft = join(dirname(path), "..data_tmp");
  await rm(draft, { force: true });
  await symlink(target, draft);
  await rename(draft, path).catch(async (thrown: unknown) => {
    if (codeOf(thrown) !== "EISDIR") throw thrown;
    await rm(path, { recursive: true, force: true });
    await rename(draft, path);
  });
}

/** A directory without dots may be a mount point. */
async function removeOthers(directory: string, kept: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (kept.has(entry.name) || (entry.isDirectory() && !entry.name.startsWith(".."))) continue;
    await rm(join(directory, entry.name), { recursive: true, force: true });
  }
}

/**
 * Keeps a file or directory of a volume, by hard links, for a container that mounts only that: it does not change with
 * the volume. A missing source becomes an empty directory. Rejects if it leads out of the volume.
 */
export async function holdPart(source: string, within: string, part: string): Promise<string> {
  if (await exists(part)) return part;
  await makeDirectories(dirname(part));
  const real = await realpath(source).catch(recover(hasCode("ENOENT", "ENOTDIR"), undefined));
  const draft = `${part}.draft`;
  await rm(draft, { recursive: true, force: true });
  if (real === undefined) await makeDirectories(draft);
  else if (real.startsWith(join(await realpath(within), sep))) await linkAll(real, draft);
  else throw new Error(`${source} leads out of its volume`);
  await rename(draft, part);
  return part;
}

async function linkAll(from: string, to: string): Promise<void> {
  if (!(await stat(from)).isDirectory()) return link(from, to);
  await makeDirectories(to);
  for (const name of await readdir(from)) await linkAll(join(from, name), join(to, name));
}
