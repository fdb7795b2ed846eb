import { randomInt } from "node:crypto";
import { type Clock, codeOf, isJsonObject, SlipwayError, silentLog } from "#lib/base/index.ts";
import type { Connection } from "#kernel/kit/index.ts";
import type { GlobalOptions } from "./command.ts";
import { defaultDataDirectory, type Environment } from "./environment.ts";
import type { Session } from "./session.ts";
import { version } from "./version.ts";

type Choice = Pick<GlobalOptions, "kubeconfig" | "context" | "namespace">;

/** The kubeconfig that was named, by flag or by `SLIPWAY_KUBECONFIG`. `KUBECONFIG` may name somebody's cluster and is not followed. */
export const namedKubeconfig = ({ kubeconfig }: Choice, { variable }: Environment): string | undefined =>
  kubeconfig ?? variable("SLIPWAY_KUBECONFIG");

/**
 * What runs now, in words: a named kubeconfig, which is believed, or the data directory of a `slipway up` that is
 * alive. Undefined: nothing. Opens no connection.
 */
export async function findRunning(choice: Choice, environment: Environment): Promise<string | undefined> {
  const named = namedKubeconfig(choice, environment);
  if (named !== undefined) return named;
  const directory = defaultDataDirectory(environment);
  return (await isOwned(directory)) ? directory : undefined;
}

/** True when the process that holds the directory's lock is alive. EPERM means that it lives and is somebody else's. */
async function isOwned(directory: string): Promise<boolean> {
  const pid = await ownerOf(directory);
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return codeOf(thrown) === "EPERM";
  }
}

async function ownerOf(directory: string): Promise<number | undefined> {
  // Commands that talk to nobody have no use for it, and import this file, too.
  const { readFile } = await import("node:fs/promises");
  try {
    const owner: unknown = JSON.parse(await readFile(`${directory}/lock`, "utf8"));
    return isJsonObject(owner) && typeof owner["pid"] === "number" ? owner["pid"] : undefined;
  } catch {
    return undefined; // No lock, or one that is just being written: nobody to talk to yet.
  }
}

/**
 * How the running control plane is reached, or an error that says how to start one. With a named kubeconfig its server and
 * namespace are used, any Kubernetes API; else the one that `slipway up` wrote.
 */
export async function findConnection(choice: Choice, environment: Environment, clock: Clock): Promise<Connection> {
  const named = namedKubeconfig(choice, environment);
  if (named === undefined && (await findRunning(choice, environment)) === undefined) {
    const hint = "start one with: slipway up\nor name another with: --kubeconfig FILE";
    throw new SlipwayError("no-control-plane", `no control plane is running in ${defaultDataDirectory(environment)}`, {
      hint,
    });
  }
  const { loadKubeconfig } = await import("#kernel/kit/index.ts");
  return await loadKubeconfig({
    files: [named ?? `${defaultDataDirectory(environment)}/kubeconfig`],
    ...(choice.context === undefined ? {} : { context: choice.context }),
    environment: environment.all,
    clock,
    log: silentLog,
  });
}

/** A client for what `findConnection` has found. The connection is made by the first request. */
export async function connectRunning(choice: Choice, environment: Environment, clock: Clock): Promise<Session> {
  const connection = await findConnection(choice, environment, clock);
  const { createHttpClient } = await import("#kernel/kit/index.ts");
  const random = () => randomInt(2 ** 47) / 2 ** 47;
  const client = createHttpClient({ connection, clock, log: silentLog, random, userAgent: `slipway/${version}` });
  return { client, namespace: choice.namespace ?? connection.namespace ?? "default", close: () => client.close() };
}
