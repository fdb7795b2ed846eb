import type { Environment } from "./environment.ts";

/** What host steps may see of our environment: enough to find programs and speak the user's language, and nothing secret. */
const passedOn = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"] as const;

/** The variables of `passedOn` that are set. Everything else a step needs is said by its document. */
export function hostEnvironment({ variable }: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    passedOn.flatMap((name) => (variable(name) === undefined ? [] : [[name, variable(name) ?? ""]])),
  );
}
