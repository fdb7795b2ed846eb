import { randomUUID } from "node:crypto";
import { chmod, link, lstat, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf, hasCode, messageOf, recover } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { resultsError } from "./errors.ts";

const mostOfOne = 10_000;

const hint = "choose another directory with --results-dir";

/** The results directory of this user: `{tmp}/iver-wharf`, or with the uid appended if that is a link or another
 * user's. Others may write to tmp, so the directory is checked without following links and closed to others. */
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

export const buildsOf = (root: string): string => join(root, "build");

/** Claims a directory for one build: the wanted one, or with `.2`, `.3` … if it is not empty. Linking the complete
 * first file claims it, so two builds never share one. */
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

async function claim(directory: string, firstFile: string, content: string): Promise<boolean> {
  try {
    await mkdir(directory, 0o700).catch(recover(hasCode("EEXIST"), undefined));
    if ((await readdir(directory)).length > 0) return false;
    await chmod(directory, 0o700);
    // Unique, because two builds of one process may compete.
    const draft = join(directory, `.${randomUUID()}.next`);
    await writeFile(draft, content, { mode: 0o600 });
    try {
      // Unlike rename, link fails if the file exists.
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

/** Results in a repository must not make it dirty or become input of the next build. */
async function isInWorkTree(directory: string): Promise<boolean> {
  for (let at = resolve(directory); ; at = dirname(at)) {
    if (await stat(join(at, ".git")).catch(() => undefined)) return true;
    if (dirname(at) === at) return false;
  }
}

const unusable = (path: string, found: string, cause?: unknown): Error =>
  resultsError("results-place", `results directory ${path}: ${found}`, { hint, cause });
