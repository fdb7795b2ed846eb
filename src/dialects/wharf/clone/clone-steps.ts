import type { SourceUrl } from "./source-url.ts";

/** What to clone, and where to. */
export interface CloneRequest {
  readonly source: SourceUrl;
  /** Absolute. Whatever is there is removed. */
  readonly directory: string;
  /** The default branch of the repository when absent. */
  readonly branch?: string | undefined;
  /** A full one, `refs/…`; wins over the branch. */
  readonly ref?: string | undefined;
  /** A full hash; wins over both. */
  readonly commit?: string | undefined;
  /** Password or token for HTTP. */
  readonly token?: string | undefined;
}

/** Words for Git, and those that are tried instead when they fail. */
export interface GitStep {
  readonly words: readonly string[];
  readonly otherwise?: readonly (readonly string[])[];
}

/** The variables by which Git is told who asks. They are read by the helper below and stand in no argument list. */
export const userVariable = "WHARF_GIT_USER";
export const tokenVariable = "WHARF_GIT_TOKEN";

/** For `get` alone: nothing is stored, and nothing that is stored elsewhere is erased. */
const helper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$${userVariable}" "$${tokenVariable}"; }; f`;

/**
 * What makes Git take the credential from its environment. The host's own helpers are passed over, and the token is for the host that it was
 * given for: after a redirection to another, or for a submodule elsewhere, nobody is asked.
 */
function credentialWords({ source, token }: CloneRequest): readonly string[] {
  if ((token ?? source.password) === undefined || (source.scheme !== "http" && source.scheme !== "https")) return [];
  const { origin } = new URL(source.url);
  return [
    "-c",
    "credential.helper=",
    "-c",
    `credential.${origin}.helper=`,
    "-c",
    `credential.${origin}.helper=${helper}`,
  ];
}

const heads = "refs/heads/";

/** A transfer that has come to a standstill ends. */
const patience = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"];

/** The calls of Git that make a clone, in their order. Pure: the token is in none of them. */
export function cloneSteps(request: CloneRequest): readonly GitStep[] {
  const { source, directory, branch, ref, commit } = request;
  const settings = [...patience, ...credentialWords(request)];
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
  // Not every server gives out a commit that no branch ends with: then all branches and tags are fetched.
  const everything = inside("fetch", "--tags", "--", "origin", "+refs/heads/*:refs/remotes/origin/*");
  return [
    ...begin,
    { words: inside("fetch", "--no-tags", "--", "origin", commit), otherwise: [everything] },
    { words: inside("checkout", "--quiet", "--detach", commit) },
  ];
}
