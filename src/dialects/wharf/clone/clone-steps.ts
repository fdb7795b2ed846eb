import { gitSettings, type SourceUrl } from "#kernel/git/index.ts";

export interface CloneRequest {
  readonly source: SourceUrl;
  readonly directory: string;
  readonly branch?: string | undefined;
  readonly ref?: string | undefined;
  readonly commit?: string | undefined;
  readonly token?: string | undefined;
}

export interface GitStep {
  readonly words: readonly string[];
  readonly otherwise?: readonly (readonly string[])[];
}

const heads = "refs/heads/";

/** Pure: the token is in none of the commands. */
export function cloneSteps(request: CloneRequest): readonly GitStep[] {
  const { source, directory, branch, ref, commit } = request;
  const settings = gitSettings(request);
  const inside = (...words: readonly string[]) => [...settings, "-C", directory, ...words];
  const head = ref?.startsWith(heads) === true ? ref.slice(heads.length) : undefined;
  if (commit === undefined && (ref === undefined || head !== undefined)) {
    const wanted = head ?? branch;
    const chosen = wanted === undefined ? [] : ["--branch", wanted];
    return [{ words: [...settings, "clone", "--single-branch", ...chosen, "--", source.url, directory] }];
  }
  const begin: readonly GitStep[] = [
    { words: [...settings, "init", "--quiet", "--", directory] },
    { words: inside("remote", "add", "--", "origin", source.url) },
  ];
  if (commit === undefined)
    return [
      ...begin,
      { words: inside("fetch", "--no-tags", "--", "origin", `+${ref}:${ref}`) },
      { words: inside("checkout", "--quiet", "--detach", `${ref}`) },
    ];
  // Servers may refuse arbitrary commits: then all branches and tags are fetched.
  const everything = inside("fetch", "--tags", "--", "origin", "+refs/heads/*:refs/remotes/origin/*");
  return [
    ...begin,
    { words: inside("fetch", "--no-tags", "--", "origin", commit), otherwise: [everything] },
    { words: inside("checkout", "--quiet", "--detach", commit) },
  ];
}
