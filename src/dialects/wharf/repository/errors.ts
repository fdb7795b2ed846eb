import { codeOf, SlipwayError } from "#lib/base/index.ts";

/** What can be wrong with the copy of a project that steps are given. */
export type RepositoryCode =
  /** A file of the project cannot be read, or becomes shorter while it is. */
  | "repository-unreadable"
  /** A file that a step names is not there, no file, or too large. */
  | "overlay-file"
  /** A file that a step names leads out of the project, or out of the copy of it. */
  | "path-escape"
  /** A file has variables that contain themselves, or become too large. */
  | "overlay-variables";

export const repositoryError = (code: RepositoryCode, message: string, cause?: unknown): SlipwayError =>
  new SlipwayError(code, message, cause === undefined ? {} : { cause });

/** Something of the project, by the name people know it by, that no build can do without. */
export const unreadable = (called: string, why: string, cause?: unknown): SlipwayError =>
  repositoryError("repository-unreadable", `cannot read ${called}: ${why}`, cause);

/** Whether there is nothing at a path, or nothing any more. */
export const isGone = (thrown: unknown): boolean => codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR";
