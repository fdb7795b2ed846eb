// Groups and names of projects come from where the repository was cloned from, in any of the ways that hosts write addresses; those of Azure
// DevOps have parts that belong to neither.

/** The group and the name that a repository's URL says. */
export interface RepositoryName {
  readonly group: string;
  readonly name: string;
}

/**
 * `git@h:a/b.git` is `b` of the group `a`. The last part of the path without `.git` is the name; the rest is the group, without what some
 * hosts put around it: `v3/` before and `/_git` behind. Undefined when there is no such path.
 */
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

/** The path of a URL, or of the short form of SSH (`user@host:path`); undefined for a directory of this machine. */
function pathOf(url: string): string | undefined {
  const full = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*\/([^?#]*)/.exec(url);
  if (full !== null) return url.startsWith("file:") ? undefined : full[1];
  return /^(?:[^/@:]+@)?[^/:]{2,}:(?!\/\/)(.*)$/.exec(url)?.[1];
}
