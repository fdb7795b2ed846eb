import { systemRandom } from "#lib/base/index.node.ts";
import { type Clock, codeOf, type Millis, SlipwayError, silentLog, toError } from "#lib/base/index.ts";
import type { Connection } from "#kernel/kit/index.ts";
import { absentPatience, awaitServer, type Look, startingPatience } from "#kernel/command/index.node.ts";
import { defaultDataDirectory, type Environment, type GlobalOptions, type Session } from "#kernel/command/index.ts";
import { version } from "./version.ts";

type Choice = Pick<GlobalOptions, "kubeconfig" | "context" | "namespace">;

/** The kubeconfig named by flag or `SLIPWAY_KUBECONFIG`. `KUBECONFIG` is ignored: it may name an unrelated cluster. */
export const namedKubeconfig = ({ kubeconfig }: Choice, { variable }: Environment): string | undefined =>
  kubeconfig ?? variable("SLIPWAY_KUBECONFIG");

/**
 * Describes the control plane: a named kubeconfig, or the data directory of a running `slipway up`; undefined for none.
 * Opens no connection.
 */
export async function findRunning(choice: Choice, environment: Environment): Promise<string | undefined> {
  const named = namedKubeconfig(choice, environment);
  if (named !== undefined) return named;
  const { serverOf } = await import("#kernel/kit/index.ts");
  const directory = defaultDataDirectory(environment);
  return (await serverOf(directory)) === undefined ? undefined : directory;
}

/**
 * The connection to the control plane, once it accepts connections: that of a named kubeconfig, else the one that
 * `slipway up` wrote.
 */
export async function findConnection(
  choice: Choice,
  environment: Environment,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Connection> {
  const named = namedKubeconfig(choice, environment);
  const what = `the control plane of ${named ?? defaultDataDirectory(environment)}`;
  return await awaitServer(what, () => lookFor(choice, environment, clock), { clock, err: environment.err, signal });
}

async function lookFor(choice: Choice, environment: Environment, clock: Clock): Promise<Look<Connection>> {
  const { isLocal, loadKubeconfig, serverOf } = await import("#kernel/kit/index.ts");
  const named = namedKubeconfig(choice, environment);
  const directory = defaultDataDirectory(environment);
  const missing = (patience: Millis, error: unknown): Look<Connection> => ({
    patience,
    otherwise: () => {
      throw toError(error);
    },
  });
  if (named === undefined) {
    const server = await serverOf(directory);
    if (server === undefined) return missing(absentPatience, noControlPlane(directory));
    if (server.url === undefined) return missing(startingPatience, stillStarting(directory, server.pid));
  }
  try {
    const connection = await loadKubeconfig({
      files: [named ?? `${directory}/kubeconfig`],
      ...(choice.context === undefined ? {} : { context: choice.context }),
      environment: environment.all,
      clock,
      log: silentLog,
    });
    // A remote server is not probed: its answer says more than its port.
    if (!isLocal(connection) || (await takesConnections(connection))) return { found: connection };
    return { patience: absentPatience, otherwise: () => connection };
  } catch (thrown) {
    if (codeOf(thrown) !== "kubeconfig-missing") throw thrown;
    return missing(absentPatience, thrown);
  }
}

const noControlPlane = (directory: string): SlipwayError =>
  new SlipwayError("no-control-plane", `no control plane is running in ${directory}`, {
    hint: "start one with: slipway up --detach\nor name another with: --kubeconfig FILE",
  });

const stillStarting = (directory: string, pid: number): SlipwayError =>
  new SlipwayError("control-plane-starting", `the control plane of ${directory} (process ${pid}) is not ready yet`, {
    hint: "try again later, or check its log",
  });

/** False only if no server listens. */
async function takesConnections({ server, socketPath }: Connection): Promise<boolean> {
  const { connect } = await import("node:net");
  const { hostname, port } = new URL(server);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return await new Promise((resolve) => {
    const socket = connect(socketPath === undefined ? { host, port: Number(port || 443) } : { path: socketPath });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => resolve(!["ECONNREFUSED", "ENOENT"].includes(codeOf(error) ?? "")));
  });
}

export async function connectRunning(
  choice: Choice,
  environment: Environment,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Session> {
  const connection = await findConnection(choice, environment, clock, signal);
  const { createHttpClient } = await import("#kernel/kit/index.ts");
  const client = createHttpClient({
    connection,
    clock,
    log: silentLog,
    random: systemRandom,
    userAgent: `slipway/${version}`,
  });
  return { client, namespace: choice.namespace ?? connection.namespace ?? "default", close: () => client.close() };
}
