import type { Stats } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, inParallel, messageOf } from "#lib/base/index.ts";
import { isGone, unreadable } from "./errors.ts";
import { gitNames, type ListOptions, under, walk } from "./list-names.ts";
import { standaloneGit, type StandaloneOptions } from "./standalone-git.ts";
import type { RepositoryEntry, RepositoryWarning } from "./entry.ts";

const width = 64;

type Found = Map<string, Stats>;

/** Everything that is copied, sorted by path. Other kinds of files cause a warning. Rejects with
 * `repository-unreadable`. */
export async function observeEntries(
  options: StandaloneOptions,
  onWarning: (warning: RepositoryWarning) => void,
): Promise<readonly RepositoryEntry[]> {
  const { directory, signal, withIgnored = false } = options;
  const found: Found = new Map();
  const isNoText = (path: string): void =>
    onWarning({ code: "not-copied", message: `${path} is not copied: its name is no UTF-8` });
  const observe = (paths: readonly string[]) => observePaths(directory, paths, found, isNoText, signal);
  const failure = withIgnored ? undefined : await observeWorkTrees(options, found, observe);
  if (failure !== undefined) {
    const message = `files that Git would ignore are copied too, because Git cannot read the project: ${failure}`;
    onWarning({ code: "no-git", message });
  }
  if (withIgnored || failure !== undefined) await observe(await walk("", options));
  await observeParents(found, observe);
  return entriesOf(directory, found, await observeForeignGit(options, found, onWarning), onWarning);
}

/** Replaces `.git` files that lead out of the project. */
async function observeForeignGit(
  options: StandaloneOptions,
  found: Found,
  onWarning: (warning: RepositoryWarning) => void,
): Promise<ReadonlyMap<string, string>> {
  const sources = new Map<string, string>();
  const files = [...found].filter(([path, stats]) => /(?:^|\/)\.git$/.test(path) && stats.isFile());
  for (const [path] of files) {
    const parts = await standaloneGit(path, options).catch((thrown: unknown) => {
      throw unreadable(path, messageOf(thrown), thrown);
    });
    if (parts === "foreign") {
      const hint = "core.worktree of that repository would have to name this directory";
      onWarning({ code: "not-copied", message: `${path} is not copied: it leads to a repository elsewhere; ${hint}` });
      found.delete(path);
      continue;
    }
    if (parts === undefined) continue;
    const look = async ([name, source]: readonly [string, string]): Promise<void> => {
      options.signal.throwIfAborted();
      const stats = await lstat(source).catch((thrown: unknown) => {
        if (isGone(thrown)) return undefined;
        throw unreadable(path, messageOf(thrown), thrown);
      });
      if (stats === undefined) return;
      const at = name === "" ? path : `${path}/${name}`;
      found.set(at, stats);
      sources.set(at, source);
    };
    await inParallel([...parts], look, width);
  }
  return sources;
}

/** Adds the work tree and nested ones with their `.git`; returns why Git does not know the project. */
async function observeWorkTrees(
  options: ListOptions,
  found: Found,
  observe: (paths: readonly string[]) => Promise<void>,
): Promise<string | undefined> {
  const trees = [""];
  for (const prefix of trees) {
    let names: readonly string[];
    try {
      names = await gitNames(prefix, options);
    } catch (thrown) {
      options.signal.throwIfAborted();
      const why = messageOf(thrown).split("\n", 1)[0] ?? "";
      if (prefix === "") return why;
      throw unreadable(prefix, why, thrown);
    }
    const git = under(prefix, ".git");
    await observe(options.withoutGit === true ? names : [...names, git]);
    if (found.get(git)?.isDirectory() === true) await observe(await walk(git, options));
    for (const path of names) {
      // Otherwise it is a submodule that was not fetched.
      const isTree = found.get(path)?.isDirectory() === true && !trees.includes(path);
      if (isTree && (await isThere(join(options.directory, path, ".git")))) trees.push(path);
    }
  }
  return undefined;
}

async function observePaths(
  directory: string,
  paths: readonly string[],
  found: Found,
  isNoText: (path: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const look = async (path: string): Promise<void> => {
    signal.throwIfAborted();
    try {
      found.set(path, await lstat(join(directory, path)));
    } catch (thrown) {
      if (!isGone(thrown)) throw unreadable(path, messageOf(thrown), thrown);
      // Names that are no UTF-8 cannot be found by their decoded name.
      if (path.includes("\ufffd")) isNoText(path);
    }
  };
  await inParallel(
    [...new Set(paths)].filter((path) => !found.has(path)),
    look,
    width,
  );
}

async function observeParents(found: Found, observe: (paths: readonly string[]) => Promise<void>): Promise<void> {
  const parents = new Set<string>();
  for (const path of found.keys())
    for (let at = dirname(path); at !== "." && !parents.has(at); at = dirname(at)) parents.add(at);
  await observe([...parents]);
}

/** Entries behind something that is no directory any more are dropped. */
async function entriesOf(
  directory: string,
  found: Found,
  sources: ReadonlyMap<string, string>,
  onWarning: (warning: RepositoryWarning) => void,
): Promise<readonly RepositoryEntry[]> {
  const entries: RepositoryEntry[] = [];
  const directories = new Set(["."]);
  const paths = [...found.keys()].sort();
  for (const path of paths) {
    const stats = found.get(path);
    if (stats === undefined || !directories.has(dirname(path))) continue;
    const source = sources.get(path);
    const elsewhere = source === undefined ? {} : { source };
    const alike = { path, mode: stats.mode & 0o7777, modified: stats.mtimeMs, size: 0, ...elsewhere };
    if (stats.isDirectory()) {
      directories.add(path);
      entries.push({ ...alike, kind: "directory" });
    } else if (stats.isFile()) entries.push({ ...alike, kind: "file", size: stats.size });
    else if (stats.isSymbolicLink()) {
      const target = await targetOf(source ?? join(directory, path));
      if (target !== undefined) entries.push({ ...alike, kind: "link", target });
    } else onWarning({ code: "not-copied", message: `${path} is not copied: it is ${kindOf(stats)}` });
  }
  return entries;
}

const kindOf = (stats: Stats): string => {
  if (stats.isSocket()) return "a socket";
  return stats.isFIFO() ? "a named pipe" : "a device";
};

/** Undefined if the link is gone or replaced. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (thrown) {
    if (isGone(thrown) || codeOf(thrown) === "EINVAL") return undefined;
    throw unreadable(path, messageOf(thrown), thrown);
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
