// A linked work tree has a `.git` file that leads elsewhere; in a copy, a commit would move the user's branch.
// Copies get a standalone `.git`.

import type { Stats } from "node:fs";
import { lstat, readlink, copyFile, readFile, realpath } from "node:fs/promises";
import { dirname, join, isAbsolute, resolve, sep } from "node:path";
import { codeOf, inParallel, messageOf } from "#lib/base/index.ts";
import { isGone, unreadable } from "./errors.ts";
import { gitNames, type ListOptions, under, walk } from "./list-names.ts";
import type { RepositoryEntry, RepositoryWarning } from "./entry.ts";
import { runGit } from "../world/git.ts";

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

interface StandaloneOptions extends ListOptions {
  readonly work: string;
}

/** Files of the repository or of other work trees, see gitrepository-layout(5). */
const ofOthers =
  /^(?:HEAD|index|gitdir|commondir|locked|modules|worktrees|config\.worktree|sequencer|logs\/HEAD|refs\/(?:bisect|worktree|rewritten)|[^/]*_(?:HEAD|MSG|LOG)|rebase-[^/]*|[^/]*\.lock)(?:\/|$)/;
const ofLinks = /^(?:gitdir|commondir|locked|modules)(?:\/|$)/;

/** The parts of a standalone `.git` with their sources; undefined if the file leads to something that is copied anyway,
 * "foreign" if its target does not name this work tree: a stranger's file could name any directory. Rejects if
 * something cannot be read. */
async function standaloneGit(
  gitFile: string,
  options: StandaloneOptions,
): Promise<ReadonlyMap<string, string> | "foreign" | undefined> {
  const { directory } = options;
  const file = join(directory, gitFile);
  const [, written] = /^gitdir: (.+)$/m.exec(await readFile(file, "utf8")) ?? [];
  if (written === undefined) return undefined;
  const own = resolve(dirname(file), written);
  // A relative path stays valid in the copy.
  if (!isAbsolute(written) && own.startsWith(directory + sep)) return undefined;
  const common = await commonOf(own);
  if (!(await leadsBack(own, common, file, options))) return "foreign";
  const parts = new Map<string, string>();
  if (common !== own) await add(parts, common, ofOthers, options);
  await add(parts, own, ofLinks, options);
  const config = parts.get("config");
  if (config !== undefined) parts.set("config", await configOf(config, gitFile, options));
  // Git requires refs.
  if (common === own || parts.has("refs")) return new Map([["", common], ...parts]);
  return undefined;
}

/** Whether the target is outside of the project and names this work tree by `gitdir` or `core.worktree`. */
async function leadsBack(own: string, common: string, file: string, options: StandaloneOptions): Promise<boolean> {
  const { directory, work, environment, signal } = options;
  const real = (path: string) => realpath(path).catch(() => undefined);
  const [root, home = "", shared = ""] = await Promise.all([directory, own, common].map(real));
  if (home === "" || home === root || home.startsWith(`${root}${sep}`)) return false;
  if (home !== shared && !home.startsWith(join(shared, "worktrees") + sep)) return false;
  const back = await readFile(join(own, "gitdir"), "utf8").catch(() => undefined);
  if (back !== undefined) return (await real(resolve(own, back.trim()))) === (await real(file));
  for (const name of ["config", "config.worktree"]) {
    const words = ["config", "--file", join(own, name), "core.worktree"];
    const tree = await runGit(words, { directory: work, environment, signal }).catch(() => undefined);
    if (tree !== undefined) return (await real(resolve(own, tree))) === (await real(dirname(file)));
  }
  return false;
}

async function commonOf(own: string): Promise<string> {
  try {
    return resolve(own, (await readFile(join(own, "commondir"), "utf8")).trim());
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return own;
    throw thrown;
  }
}

async function add(parts: Map<string, string>, from: string, isLeft: RegExp, options: ListOptions): Promise<void> {
  for (const path of await walk("", { ...options, directory: from, withoutGit: false, excluded: [] }))
    if (!isLeft.test(path)) parts.set(path, join(from, path));
}

/** Removes settings for a bare repository or a work tree elsewhere. */
async function configOf(
  config: string,
  gitFile: string,
  { work, environment, signal }: StandaloneOptions,
): Promise<string> {
  const text = await readFile(config, "utf8");
  if (!/^\s*(?:bare|worktree)\b/im.test(text)) return config;
  const made = join(work, `config-of-${gitFile.replaceAll("/", "-")}`);
  await copyFile(config, made);
  const git = (...words: readonly string[]) =>
    runGit(["config", "--file", made, ...words], { directory: work, environment, signal });
  await git("core.bare", "false");
  const names = (await git("--list", "--name-only")).split("\n");
  if (names.includes("core.worktree")) await git("--unset-all", "core.worktree");
  return made;
}
