// Logins of `docker login`, in its file or a credential helper.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, isJsonObject, type JsonObject, type JsonValue, type Millis } from "#lib/base/index.ts";
import { childEnd } from "#lib/base/index.node.ts";
import { imageAddress, loginsFor, type RegistryLogin } from "#kernel/runtimes/index.ts";

export interface LoginPlace {
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
  readonly clock: Clock;
}

const defaultServer = "https://index.docker.io/v1/";

const mostBytes = 64 * 1024;
/** A credential helper may ask the user; the build does not wait longer. */
const longestLook: Millis = 60_000;

/** The logins for an image; unreadable ones are ignored and left to the registry to refuse. */
export function machineLogins({
  variable,
  home,
  clock,
}: LoginPlace): (image: string) => Promise<readonly RegistryLogin[]> {
  const path = join(variable("DOCKER_CONFIG") ?? join(home, ".docker"), "config.json");
  return async (image) => {
    const bytes = await readFile(path).catch(() => undefined);
    if (bytes === undefined) return [];
    const { host } = imageAddress(image);
    const server = host === "docker.io" ? defaultServer : host;
    const helper = helperFor(parsed(bytes), server);
    const kept =
      helper === undefined ? undefined : await askHelper(helper, server, { PATH: variable("PATH"), HOME: home }, clock);
    return [...(kept === undefined ? [] : [kept]), ...loginsFor(image, [new Map([[".dockerconfigjson", bytes]])])];
  };
}

function parsed(bytes: Buffer): JsonObject {
  try {
    const value = JSON.parse(bytes.toString()) as JsonValue;
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** A registry's own helper precedes the default one. */
function helperFor({ credHelpers, credsStore }: JsonObject, server: string): string | undefined {
  const own = isJsonObject(credHelpers) && Object.hasOwn(credHelpers, server) ? credHelpers[server] : undefined;
  const name = own ?? credsStore;
  return typeof name === "string" && /^[\w.-]+$/.test(name) ? name : undefined;
}

/** The protocol of credential helpers: the server on stdin, JSON on stdout. */
async function askHelper(
  helper: string,
  server: string,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<RegistryLogin | undefined> {
  const output = await outputOf(`docker-credential-${helper}`, server, env, clock);
  const { Username: username, Secret: secret } = parsed(Buffer.from(output));
  if (typeof username !== "string" || typeof secret !== "string" || secret === "") return undefined;
  return username === "<token>" ? { server, identityToken: secret } : { server, username, password: secret };
}

async function outputOf(program: string, input: string, env: NodeJS.ProcessEnv, clock: Clock): Promise<string> {
  const child = spawn(program, ["get"], { env, stdio: ["pipe", "pipe", "ignore"] });
  const cancel = clock.after(longestLook, () => child.kill("SIGKILL"));
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    if (text.length > mostBytes) child.kill();
  });
  child.stdin.once("error", () => undefined);
  child.stdin.end(`${input}\n`);
  const code = await childEnd(child, clock)
    .catch(() => null)
    .finally(cancel);
  return code === 0 ? text : "";
}
