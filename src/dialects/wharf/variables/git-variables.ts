import { asText } from "../definition/scalar.ts";
import type { Variable } from "./variable.ts";

export interface GitFacts {
  readonly branch: string;
  readonly commit?: GitCommit;
  readonly tag: string;
  /** The fetch URL of `origin`, else its push URL. */
  readonly url?: string;
}

export interface GitCommit {
  readonly hash: string;
  readonly shortHash: string;
  readonly subject: string;
  readonly authorDate: string;
  readonly committerDate: string;
  readonly count: string;
}

/** Facts that Git does not know are no variables, so that files and the environment can set them; like in the original,
 * branch and tag are always set. */
export function gitVariables({ branch, commit, tag, url }: GitFacts): readonly Variable[] {
  const repository = url === undefined ? undefined : repositoryName(url);
  const texts: Readonly<Record<string, string | undefined>> = {
    GIT_BRANCH: branch,
    REPO_BRANCH: branch,
    GIT_SAFEBRANCH: branch.replaceAll("/", "-"),
    GIT_COMMIT: commit?.hash,
    GIT_COMMIT_SHORT: commit?.shortHash,
    GIT_COMMIT_SUBJECT: commit?.subject,
    GIT_COMMIT_AUTHOR_DATE: commit?.authorDate,
    GIT_COMMIT_COMMITTER_DATE: commit?.committerDate,
    GIT_REVISION: commit?.count,
    GIT_TAG: tag,
    REPO_NAME: repository?.name,
    REPO_GROUP: repository?.group,
  };
  return Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, ...asText(text), source: "git" } as const],
  );
}

interface RepositoryName {
  readonly group: string;
  readonly name: string;
}

/** Group and name from a repository URL: `git@h:a/b.git` is `b` of the group `a`. The prefix `v3/` and the suffix
 * `/_git` of some hosts are dropped. Undefined if the path has no group. */
export function repositoryName(url: string): RepositoryName | undefined {
  const path = pathOf(url.trim());
  if (path === undefined) return undefined;
  const parts = path.split("/").filter((part) => part !== "");
  const name = parts.pop()?.replace(/\.git$/, "");
  if (/^v\d+$/.test(parts[0] ?? "") && parts.length > 1) parts.shift();
  if (parts.at(-1) === "_git") parts.pop();
  const group = parts.join("/");
  return name === undefined || name === "" || group === "" ? undefined : { group, name };
}

/** Supports URLs and `user@host:path`; undefined for local directories. */
function pathOf(url: string): string | undefined {
  const full = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*\/([^?#]*)/.exec(url);
  if (full !== null) return url.startsWith("file:") ? undefined : full[1];
  return /^(?:[^/@:]+@)?[^/:]{2,}:(?!\/\/)(.*)$/.exec(url)?.[1];
}
