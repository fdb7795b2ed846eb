import { asText } from "../definition/scalar.ts";
import { repositoryName } from "./repository.ts";
import type { Variable } from "./variable.ts";

/** What Git says of the project directory. What it does not have is absent, as the commit of a repository without any. */
export interface GitFacts {
  /** Empty when no branch is checked out. */
  readonly branch: string;
  readonly commit?: GitCommit;
  /** Of tags that point at the commit the newest; empty when there is none. */
  readonly tag: string;
  /** Of `origin`, where it is fetched from or else pushed to. */
  readonly url?: string;
}

/** What is checked out. */
export interface GitCommit {
  readonly hash: string;
  readonly shortHash: string;
  readonly subject: string;
  /** Strict ISO 8601, both of them. */
  readonly authorDate: string;
  readonly committerDate: string;
  /** Commits up to this one. */
  readonly count: string;
}

/**
 * `GIT_BRANCH`, `REPO_NAME` and so on. All of them are texts. What Git does not know is no variable at all, so that a file or the environment
 * may say it, with two exceptions that the original makes: a branch and a tag that are not there are empty.
 */
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
