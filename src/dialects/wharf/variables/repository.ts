export interface RepositoryName {
  readonly group: string;
  readonly name: string;
}

/**
 * Group and name from a repository URL: `git@h:a/b.git` is `b` of the group `a`. The prefix `v3/` and the suffix
 * `/_git` of some hosts are dropped. Undefined if the path has no group.
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

/** Supports URLs and `user@host:path`; undefined for local directories. */
function pathOf(url: string): string | undefined {
  const full = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*\/([^?#]*)/.exec(url);
  if (full !== null) return url.startsWith("file:") ? undefined : full[1];
  return /^(?:[^/@:]+@)?[^/:]{2,}:(?!\/\/)(.*)$/.exec(url)?.[1];
}
