import { resolve } from "node:path";
import { chosenVariables, type Environment, passedOn } from "#kernel/command/index.ts";

/** Variables for Git, SSH and engine clients. None is a credential. */
const ofWorkers = [
  ...passedOn,
  "SSH_AUTH_SOCK",
  "GIT_SSH_COMMAND",
  "GIT_SSL_CAINFO",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "XDG_CONFIG_HOME",
  "XDG_CACHE_HOME",
  "XDG_RUNTIME_DIR",
  "DOCKER_CONFIG",
  "KUBECONFIG",
  "WHARF_CONFIG",
] as const;

/** Settings that workers read themselves. */
const settingsOfWorkers = /^WHARF_(?:WORKER|LOGS|K8S)_/;

/** The environment of workers. WHARF_CONFIG is made absolute because workers start in the repository. */
export function workerEnvironment(environment: Environment): Readonly<Record<string, string>> {
  const settings = Object.keys(environment.all).filter((name) => settingsOfWorkers.test(name));
  const passed = chosenVariables(environment, [...ofWorkers, ...settings]);
  const { WHARF_CONFIG: named } = passed;
  return named === undefined ? passed : { ...passed, WHARF_CONFIG: resolve(environment.directory, named) };
}

export const workerProgram = (environment: Environment) => ({
  words: [process.execPath, ...process.argv.slice(1, 2)],
  environment: workerEnvironment(environment),
});
