import { execFileSync } from "node:child_process";
import { lstat, mkdtemp, readdir, readFile, readlink, realpath, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inParallel } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { openRepository, type Repository, type RepositoryOptions } from "../repository.ts";
import type { RepositoryWarning } from "../entry.ts";

export const newDirectory = async (): Promise<string> => realpath(await mkdtemp(join(tmpdir(), "slipway-repository-")));

/** Isolated from the user's configuration and outer repositories. */
export const gitEnvironment = (directory: string) => ({
  PATH: process.env["PATH"],
  HOME: join(directory, "nobody"),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CEILING_DIRECTORIES: dirname(directory),
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "c",
  GIT_COMMITTER_EMAIL: "c@example.org",
});

export const git = (directory: string, ...words: readonly string[]): string =>
  execFileSync("git", words, { cwd: directory, env: gitEnvironment(directory), encoding: "utf8", stdio: "pipe" });

/** Texts such as `-> target` become links. */
export async function writeFiles(
  directory: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  const directories = new Set(Object.keys(files).map((path) => dirname(join(directory, path))));
  await inParallel([...directories], (path) => makeDirectories(path));
  await inParallel(Object.entries(files), ([path, content]) => {
    const target = typeof content === "string" ? /^-> (.*)$/s.exec(content)?.[1] : undefined;
    return target === undefined ? writeFile(join(directory, path), content) : symlink(target, join(directory, path));
  });
}

export async function openedRepository(
  directory: string,
  work: string,
  options: Partial<RepositoryOptions> = {},
): Promise<{ readonly repository: Repository; readonly warnings: readonly RepositoryWarning[] }> {
  const warnings: RepositoryWarning[] = [];
  const repository = await openRepository({
    directory,
    work,
    environment: gitEnvironment(directory),
    signal: new AbortController().signal,
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  return { repository, warnings };
}

/** Kind, mode and content by path, `-> target` for links, with mtimes in seconds. */
export async function treeOf(directory: string, prefix = ""): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(join(directory, prefix))).sort();
  const trees = await Promise.all(names.map((name) => partOf(directory, prefix === "" ? name : `${prefix}/${name}`)));
  return Object.assign({}, ...trees) as Readonly<Record<string, string>>;
}

async function partOf(directory: string, path: string): Promise<Readonly<Record<string, string>>> {
  const full = join(directory, path);
  const found = await lstat(full);
  const mode = (found.mode & 0o777).toString(8);
  const seconds = Math.floor(found.mtimeMs / 1000);
  if (found.isDirectory()) return { [path]: `directory ${mode}`, ...(await treeOf(directory, path)) };
  if (found.isSymbolicLink()) return { [path]: `-> ${await readlink(full)} ${seconds}` };
  return { [path]: `file ${mode} ${seconds} ${(await readFile(full)).toString("base64")}` };
}
