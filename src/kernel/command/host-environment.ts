import type { Environment } from "./environment.ts";

/** What host steps may see of our environment: enough to find programs and speak the user's language, and nothing secret. */
export const passedOn = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TMPDIR",
] as const;

/** The variables of `passedOn` that are set. Everything else a step needs is said by its document. */
export const hostEnvironment = (environment: Environment): Readonly<Record<string, string>> =>
  chosenVariables(environment, passedOn);

/** The variables of these names that are set. */
export const chosenVariables = (
  { variable }: Environment,
  names: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(names.flatMap((name) => (variable(name) === undefined ? [] : [[name, variable(name) ?? ""]])));
