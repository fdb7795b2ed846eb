import type { Environment } from "./environment.ts";

/** Variables for host steps: enough to find programs, a Docker Engine and the user's language, without secrets. */
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
  "DOCKER_HOST",
  "DOCKER_TLS_VERIFY",
  "DOCKER_CERT_PATH",
] as const;

export const hostEnvironment = (environment: Environment): Readonly<Record<string, string>> =>
  chosenVariables(environment, passedOn);

export const chosenVariables = (
  { variable }: Environment,
  names: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(names.flatMap((name) => (variable(name) === undefined ? [] : [[name, variable(name) ?? ""]])));
