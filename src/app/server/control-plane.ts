import { randomInt } from "node:crypto";
import { cpus, hostname, totalmem } from "node:os";
import { type Dialect, loadDialects } from "#dialects/index.ts";
import { type Clock, type Logger, toError } from "#lib/base/index.ts";
import { type CrdDocument, toCrd } from "#lib/schema/index.ts";
import { type ApiServer, createApiServer, type Store } from "#kernel/apiserver/index.ts";
import { asOurs, installCrds, Manager } from "#kernel/kit/index.ts";
import { createProcessRuntime, type Runtime } from "#kernel/runtimes/index.ts";
import { addJobController, addPodRunner, createPodLogs, type Node } from "#kernel/workloads/index.ts";

/** What every control plane is made of, ephemeral or kept. */
export interface ControlPlaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** Where Pods keep their volumes, logs and the runner's journal. */
  readonly directory: string;
  readonly runnerPath: string;
  /** Where steps run, ours to close from now on; host processes with a runner of their own when absent. */
  readonly runtime?: Runtime;
  /** Where steps work that name no directory; their own Pod directory when absent. */
  readonly workingDirectory?: string;
  /** Environment of host steps before the Pod's own: PATH, HOME and the like. Never the whole of ours. */
  readonly environment: Readonly<Record<string, string>>;
  readonly rootCertificate?: string;
  /** The store is new: the definitions of our kinds that it starts with are those of this version. */
  readonly isFresh?: boolean;
}

/** An API server and all controllers, at work in this process. */
export interface ControlPlane {
  readonly server: ApiServer;
  /** Rejects when a controller fails for good; resolves after `close`. */
  readonly ended: Promise<void>;
  /** Stops controllers, then the server. With `stopTasks` running steps are ended too, else they go on without us. */
  close(options?: { readonly stopTasks?: number }): Promise<void>;
}

/** Builds and starts all parts in order: server, kinds, controllers. Nothing is left running when it rejects. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { log } = options;
  const runtime = options.runtime ?? hostRuntime(options);
  const dialects = await loadDialects();
  let manager: Manager | undefined;
  const controllers = () => (manager?.phase === "running" ? undefined : `controllers are ${manager?.phase ?? "new"}`);
  const server = await startServer(options, dialects, runtime, controllers);
  const stop = new AbortController();
  try {
    manager = await makeManager(options, dialects, runtime, server);
    const ended = manager.run(stop.signal);
    ended.catch((thrown: unknown) => log.error("controllers have failed", { error: toError(thrown) }));
    return { server, ended, close: (closing = {}) => closeAll(stop, ended, runtime, server, closing) };
  } catch (thrown) {
    await closeAll(stop, Promise.resolve(), runtime, server, {});
    throw thrown;
  }
}

const hostRuntime = ({ directory, runnerPath, clock, log }: ControlPlaneOptions): Runtime =>
  createProcessRuntime({ directory: `${directory}/runner`, runnerPath, nodePath: process.execPath, clock, log });

type Closing = NonNullable<Parameters<ControlPlane["close"]>[0]>;

async function closeAll(
  stop: AbortController,
  ended: Promise<void>,
  runtime: Runtime,
  server: ApiServer,
  closing: Closing,
): Promise<void> {
  stop.abort(new Error("the control plane stops"));
  await ended.catch(() => undefined); // Logged already, and told by `ended`.
  await runtime.close(closing);
  await server.close();
}

function startServer(
  { store, clock, log, version, directory, rootCertificate }: ControlPlaneOptions,
  dialects: readonly Dialect[],
  runtime: Runtime,
  controllers: () => string | undefined,
): Promise<ApiServer> {
  return createApiServer({
    store,
    clock,
    log,
    version,
    admissions: dialects.flatMap(({ admission }) => admission),
    podLogs: createPodLogs({ directory: `${directory}/pods`, runtime, clock }),
    health: { controllers },
    definitions: definitionsOf(dialects),
    ...(rootCertificate === undefined ? {} : { rootCertificate }),
  });
}

/** The definitions of all kinds of the dialects. A test proves that they may be stored unchecked. */
export const definitionsOf = (dialects: readonly Dialect[]): readonly CrdDocument[] =>
  dialects.flatMap(({ kinds }) => kinds.map((kind) => asOurs(toCrd(kind))));

async function makeManager(
  options: ControlPlaneOptions,
  dialects: readonly Dialect[],
  runtime: Runtime,
  server: ApiServer,
): Promise<Manager> {
  const { clock, log, directory, environment, workingDirectory } = options;
  const client = server.client();
  const random = () => randomInt(2 ** 47) / 2 ** 47;
  const { signal } = new AbortController();
  // What an earlier version has stored is brought up to date.
  if (options.isFresh !== true) await installCrds(client, definitionsOf(dialects), { clock, log, random, signal });
  const node = thisNode();
  const manager = new Manager({ client, clock, log, random });
  addJobController(manager, { instance: node.name });
  addPodRunner(manager, {
    runtime,
    directory: `${directory}/pods`,
    node,
    environment,
    isRoot: process.getuid?.() === 0,
    ...(workingDirectory === undefined ? {} : { workingDirectory }),
  });
  for (const dialect of dialects) await dialect.addControllers(manager);
  return manager;
}

/** The one node of an embedded control plane: this machine. */
function thisNode(): Node {
  const name = hostname().toLowerCase();
  return {
    name,
    address: "127.0.0.1",
    labels: {
      "kubernetes.io/hostname": name,
      "kubernetes.io/os": process.platform,
      "kubernetes.io/arch": process.arch,
    },
    cpus: cpus().length,
    memoryBytes: totalmem(),
  };
}
