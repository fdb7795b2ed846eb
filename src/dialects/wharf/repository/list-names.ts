// Git is asked which files there are, because what is ignored is its business: files of rules in every directory, in the repository and of the user.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "#lib/base/index.ts";
import { runGit } from "../world/git.ts";
import { isGone, unreadable } from "./errors.ts";

/** What of a project is copied. */
export interface ListOptions {
  /** The project directory, absolute. */
  readonly directory: string;
  /** Also what Git ignores. */
  readonly withIgnored?: boolean;
  /** Leaves out every `.git`. */
  readonly withoutGit?: boolean;
  /** Never copied, nor what is in them: absolute paths, such as that of the results. */
  readonly excluded?: readonly string[];
  /** What `askNames` has said of the project directory; it is asked now where this is absent. */
  readonly asked?: Promise<string> | undefined;
  /** All variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** Nobody has as many files as their names would need to be more. */
const mostBytes = 1024 ** 3;

/**
 * What Git knows in the work tree at `prefix`, or would add: paths below the project, in no order, some of them twice. A work tree inside of it is
 * one path. Rejects when Git does not answer.
 */
export async function gitNames(prefix: string, options: ListOptions): Promise<readonly string[]> {
  const known = prefix === "" ? options.asked : undefined;
  const output = await (known ?? askNames({ ...options, directory: join(options.directory, prefix) }));
  const names = output.split("\0").filter((name) => name !== "");
  return names.map((name) => under(prefix, name.replace(/\/$/, ""))).filter((path) => !isExcluded(path, options));
}

/** Asks Git for `gitNames`, which may so be under way before there is a place for the build. Rejects when Git does not answer. */
export const askNames = ({
  directory,
  environment,
  signal,
}: Pick<ListOptions, "directory" | "environment" | "signal">): Promise<string> =>
  runGit(["ls-files", "-z", "-co", "--exclude-standard"], { directory, environment, signal, mostBytes });

/** Everything below a directory, itself not included. Directories that go while they are looked at are empty. */
export async function walk(prefix: string, options: ListOptions): Promise<readonly string[]> {
  const { directory, signal, withoutGit = false } = options;
  const found: string[] = [];
  // Grows while it is read: directories are looked into in the order in which they are found.
  const waiting = [prefix];
  for (const at of waiting) {
    signal.throwIfAborted();
    for (const child of await childrenOf(join(directory, at), at)) {
      const path = under(at, child.name);
      if ((withoutGit && child.name === ".git") || isExcluded(path, options)) continue;
      found.push(path);
      if (child.isDirectory()) waiting.push(path);
    }
  }
  return found;
}

const childrenOf = (path: string, called: string) =>
  readdir(path, { withFileTypes: true }).catch((thrown: unknown) => {
    if (isGone(thrown)) return [];
    throw unreadable(called === "" ? path : called, messageOf(thrown), thrown);
  });

export const under = (directory: string, name: string): string => (directory === "" ? name : `${directory}/${name}`);

const isExcluded = (path: string, { directory, excluded = [] }: ListOptions): boolean => {
  const full = join(directory, path);
  return excluded.some((other) => full === other || full.startsWith(`${other}/`));
};
