// Git decides what is ignored.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "#lib/base/index.ts";
import { runGit } from "../world/git.ts";
import { isGone, unreadable } from "./errors.ts";

export interface ListOptions {
  readonly directory: string;
  readonly withIgnored?: boolean;
  readonly withoutGit?: boolean;
  /** Absolute paths that are never copied. */
  readonly excluded?: readonly string[];
  readonly asked?: Promise<string> | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

const mostBytes = 1024 ** 3;

/** Files that Git tracks or would add, unordered and possibly repeated. A nested work tree is one path. */
export async function gitNames(prefix: string, options: ListOptions): Promise<readonly string[]> {
  const known = prefix === "" ? options.asked : undefined;
  const output = await (known ?? askNames({ ...options, directory: join(options.directory, prefix) }));
  const names = output.split("\0").filter((name) => name !== "");
  return names.map((name) => under(prefix, name.replace(/\/$/, ""))).filter((path) => !isExcluded(path, options));
}

/** Runs Git for `gitNames`, which can start before the build's directory exists. */
export const askNames = ({
  directory,
  environment,
  signal,
}: Pick<ListOptions, "directory" | "environment" | "signal">): Promise<string> =>
  runGit(["ls-files", "-z", "-co", "--exclude-standard"], { directory, environment, signal, mostBytes });

/** Everything below a directory; vanished directories are empty. */
export async function walk(prefix: string, options: ListOptions): Promise<readonly string[]> {
  const { directory, signal, withoutGit = false } = options;
  const found: string[] = [];
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
