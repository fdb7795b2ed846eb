import { randomUUID } from "node:crypto";
import { chmod, link, lstat, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { resultsError } from "./errors.ts";

/** More builds of one number are a mistake. */
const mostOfOne = 10_000;

const hint = "choose another directory with --results-dir";

/**
 * The directory below which this user's builds leave their results: `{tmp}/iver-wharf`, or one with the user's number where that is a
 * symbolic link or somebody else's. In a directory that everybody may write to, a name proves nothing: what is there is looked at
 * without following it, and closed to others.
 */
export async function ownRoot(tmp: string, uid = process.getuid?.() ?? 0): Promise<string> {
  const names = ["iver-wharf", `iver-wharf-${uid}`];
  for (const name of names) {
    const path = join(tmp, name);
    await mkdir(path, 0o700).catch((thrown: unknown) => {
      if (codeOf(thrown) !== "EEXIST") throw unusable(path, messageOf(thrown), thrown);
    });
    const found = await lstat(path);
    if (!found.isDirectory() || found.uid !== uid) continue;
    if ((found.mode & 0o077) !== 0) await chmod(path, 0o700);
    return path;
  }
  const where = names.map((name) => join(tmp, name)).join(" and ");
  throw unusable(where, "expected directories of this user, found something else");
}

/** Where the results of a build are looked for, unless told: `{root}/build/{buildId}`. */
export const buildsOf = (root: string): string => join(root, "build");

/**
 * A directory for one build: the one that is asked for, or with `.2`, `.3` … behind it when that has something in it already. It belongs to
 * who has written its first file, which is there whole from the beginning; two builds never share one.
 */
export async function claimDirectory(wanted: string, firstFile: string, content: string): Promise<string> {
  await makeDirectories(dirname(wanted), 0o700).catch((thrown: unknown) => {
    throw unusable(dirname(wanted), messageOf(thrown), thrown);
  });
  for (let count = 1; count <= mostOfOne; count++) {
    const directory = count === 1 ? wanted : `${wanted}.${count}`;
    if (await claim(directory, firstFile, content)) return directory;
  }
  throw unusable(wanted, `expected fewer than ${mostOfOne} of this name`);
}

/**
 * False when it is somebody else's. Looking whether it is empty and claiming it are two steps, and another may be between them: what
 * decides is who links the first file.
 */
async function claim(directory: string, firstFile: string, content: string): Promise<boolean> {
  try {
    await mkdir(directory, 0o700).catch((thrown: unknown) => {
      if (codeOf(thrown) !== "EEXIST") throw thrown;
    });
    if ((await readdir(directory)).length > 0) return false;
    await chmod(directory, 0o700);
    // Of this claim alone: two of one process must not take each other's away.
    const draft = join(directory, `.${randomUUID()}.next`);
    await writeFile(draft, content, { mode: 0o600 });
    try {
      // Unlike rename it fails when somebody else was faster.
      await link(draft, join(directory, firstFile));
    } finally {
      await rm(draft, { force: true });
    }
    if (await isInWorkTree(directory)) await writeFile(join(directory, ".gitignore"), "*\n");
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return false;
    throw unusable(directory, messageOf(thrown), thrown);
  }
}

/** Results in a repository must neither make it dirty nor be part of what the next build is given. */
async function isInWorkTree(directory: string): Promise<boolean> {
  for (let at = resolve(directory); ; at = dirname(at)) {
    if (await stat(join(at, ".git")).catch(() => undefined)) return true;
    if (dirname(at) === at) return false;
  }
}

const unusable = (path: string, found: string, cause?: unknown): Error =>
  resultsError("results-place", `results directory ${path}: ${found}`, { hint, cause });
