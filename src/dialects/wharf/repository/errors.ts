import { codeOf, SlipwayError } from "#lib/base/index.ts";

export type RepositoryCode = "repository-unreadable" | "overlay-file" | "path-escape" | "overlay-variables";

export const repositoryError = (code: RepositoryCode, message: string, cause?: unknown): SlipwayError =>
  new SlipwayError(code, message, cause === undefined ? {} : { cause });

export const unreadable = (called: string, why: string, cause?: unknown): SlipwayError =>
  repositoryError("repository-unreadable", `cannot read ${called}: ${why}`, cause);

export const isGone = (thrown: unknown): boolean => codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR";
