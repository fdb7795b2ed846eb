import { randomInt } from "node:crypto";
import { type Dialect, loadDialects } from "#dialects/index.ts";
import { type Clock, type Logger, messageOf, toError } from "#lib/base/index.ts";
import { toCrd } from "#lib/schema/index.ts";
import { type ApiServer, createApiServer, type HealthChecks, type Store } from "#kernel/apiserver/index.ts";
import { installCrds, Manager } from "#kernel/kit/index.ts";
import { createProcessRuntime, type Runtime } from "#kernel/runtimes/index.ts";
import { addJobController, addPodRunner } from "#kernel/workloads/index.ts";

/** What every control plane is made of, ephemeral or kept. */
export interface ControlPlaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** Where Pods keep their volumes, logs and the runner's journal. */
  readonly directory: string;
  readonly runnerPath: string;
  /** Where steps work that name no directory; their own Pod directory when absent. */
  readonly workingDirectory?: string;
  /** Environment of host steps before the Pod's own: PATH, HOME and the like. Never the whole of ours. */
  readonly environment: Readonly<Record<string, string>>;
  readonly rootCertificate?: string;
}

/** An API server and all controllers, at work in this process. */
export interface ControlPlane {
  readonly server: ApiServer;
  /** Rejects when a controller fails for good; resolves after `close`. */
  readonly ended: Promise<void>;
  /** Stops controllers, then the server. With `stopTasks` running steps are ended too, else they go on without us. */
  close(options?: { readonly stopTasks?: number }): Promise<void>;
}

const randomUnit = (): number => randomInt(2 ** 47) / 2 ** 47;

/** Builds and starts all parts in order: server, kinds, controllers. Nothing is left running when it rejects. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { clock, log } = options;
  const dialects = await loadDialects();
  const runtime = createProcessRuntime({
    directory: `${options.directory}/runner`,
    runnerPath: options.runnerPath,
    nodePath: process.execPath,
    clock,
    log,
  });
  const health: { controllers: () => string | undefined } = { controllers: () => "not started" };
  const server = await startServer(options, dialects, runtime, health);
  try {
    const manager = await startControllers(options, dialects, runtime, server);
    health.controllers = () => (manager.phase === "running" ? undefined : manager.phase);
    const stop = new AbortController();
    const ended = manager.run(stop.signal);
    ended.catch((thrown: unknown) => log.error("controllers have failed", { error: toError(thrown) }));
    return {
      server,
      ended,
      async close(closing = {}) {
        stop.abort(new Error("the control plane stops"));
        await ended.catch(() => undefined); // Told and logged already.
        await runtime.close(closing);
        await server.close();
      },
    };
  } catch (thrown) {
    await runtime.close();
    await server.close();
    throw thrown;
  }
}
