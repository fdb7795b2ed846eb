import { resolve } from "node:path";
import { chosenVariables, type Environment, passedOn } from "#kernel/command/index.ts";

/**
 * What Git, SSH and clients of engines need besides, on a machine that is somebody's: where keys, proxies and authorities are, and where an
 * engine is to be found. No credential is among them; those are in files, which belong to the user.
 */
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
  "DOCKER_HOST",
  "DOCKER_CONFIG",
  "DOCKER_TLS_VERIFY",
  "DOCKER_CERT_PATH",
  "KUBECONFIG",
  "WHARF_CONFIG",
] as const;

/** Settings that a worker reads itself, as the process of any build does; those of services and variables of builds are not its own. */
const settingsOfWorkers = /^WHARF_(?:WORKER|LOGS|K8S)_/;

/**
 * Of workers of builds, which are programs of this system; steps get of it what the worker gives them. A worker begins in somebody's repository, where
 * a relative path would name another file, and that of a stranger as if somebody had looked at it.
 */
export function workerEnvironment(environment: Environment): Readonly<Record<string, string>> {
  const settings = Object.keys(environment.all).filter((name) => settingsOfWorkers.test(name));
  const passed = chosenVariables(environment, [...ofWorkers, ...settings]);
  const { WHARF_CONFIG: named } = passed;
  return named === undefined ? passed : { ...passed, WHARF_CONFIG: resolve(environment.directory, named) };
}

/** This program as a worker: what starts it, and with which variables. */
export const workerProgram = (environment: Environment) => ({
  words: [process.execPath, ...process.argv.slice(1, 2)],
  environment: workerEnvironment(environment),
});
