import type { SourceUrl } from "./source-url.ts";

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

/** Variables read by the credential helper; they are in no argument list. */
export const userVariable = "WHARF_GIT_USER";
export const tokenVariable = "WHARF_GIT_TOKEN";

/** Only `get`: nothing is stored or erased. */
const helper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$${userVariable}" "$${tokenVariable}"; }; f`;

/** Passes the credential to its own host only; other helpers are disabled. */
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

/** Ends stalled transfers. */
const patience = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"];

/** Pure: the token is in none of the commands. */
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
  // Servers may refuse arbitrary commits: then all branches and tags are fetched.
  const everything = inside("fetch", "--tags", "--", "origin", "+refs/heads/*:refs/remotes/origin/*");
  return [
    ...begin,
    { words: inside("fetch", "--no-tags", "--", "origin", commit), otherwise: [everything] },
    { words: inside("checkout", "--quiet", "--detach", commit) },
  ];
}
