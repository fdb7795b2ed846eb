// A linked work tree has a `.git` file that leads elsewhere; in a copy, a commit would move the user's branch.
// Copies get a standalone `.git`.

import { copyFile, readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import { runGit } from "../world/git.ts";
import { type ListOptions, walk } from "./list-names.ts";

export interface StandaloneOptions extends ListOptions {
  readonly work: string;
}

/** Files of the repository or of other work trees, see gitrepository-layout(5). */
const ofOthers =
  /^(?:HEAD|index|gitdir|commondir|locked|modules|worktrees|config\.worktree|sequencer|logs\/HEAD|refs\/(?:bisect|worktree|rewritten)|[^/]*_(?:HEAD|MSG|LOG)|rebase-[^/]*|[^/]*\.lock)(?:\/|$)/;
const ofLinks = /^(?:gitdir|commondir|locked|modules)(?:\/|$)/;

/** The parts of a standalone `.git` with their sources; undefined if the file leads to something that is copied anyway,
 * "foreign" if its target does not name this work tree: a stranger's file could name any directory. Rejects if
 * something cannot be read. */
export async function standaloneGit(
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
