import { messageOf } from "#lib/base/index.ts";
import type { Manager, PodStreams } from "#kernel/kit/index.ts";
import type { Configuration } from "../configuration/keys.ts";
import { readResults } from "../results/read-results.ts";
import { serveResults } from "../worker-api/serve-results.ts";
import type { WorkerBackend, WorkerIdentity } from "./backend.ts";
import type { ServedResults } from "./ended-results.ts";
import { provisionerError } from "./errors.ts";
import { HostBackend } from "./host/host-backend.ts";
import type { LauncherProgram } from "./host/spawn-launcher.ts";
import type { LaunchRequest } from "./host/worker-directory.ts";
import { forwardBy } from "./pod-address.ts";
import { workerTokenOf } from "./worker-token.ts";

export interface BackendChoice {
  readonly name: "docker" | "kubernetes";
  readonly settings: Configuration;
}

export interface BackendParts {
  readonly program: LauncherProgram;
  readonly runtime: LaunchRequest["runtime"];
  readonly backend?: BackendChoice | undefined;
  readonly directory: string;
  readonly token: string;
  readonly version: string;
  readonly namespace: string;
  readonly podStreams?: (() => PodStreams) | undefined;
}

export type MakeBackend = (changed: (worker: WorkerIdentity) => void) => WorkerBackend;

/** Rejects with `worker-backend` if the chosen backend cannot be used. */
export async function openBackend(manager: Manager, parts: BackendParts): Promise<MakeBackend> {
  const { clock, log } = manager;
  const { program, runtime, backend, directory, token } = parts;
  // Clients present the same token as to the worker.
  const serve = async (results: string, access: string): Promise<ServedResults> =>
    await serveResults(await readResults(results, clock), { address: "127.0.0.1:0", token: access, clock, log });
  const tokenOf = (uid: string): string => workerTokenOf(token, uid);
  if (backend === undefined) {
    const options = { directory: `${directory}/workers`, program, runtime, clock, log, serve, tokenOf };
    return (changed) => new HostBackend({ ...options, changed });
  }
  const { settings } = backend;
  if (backend.name === "kubernetes") {
    const { podStreams, namespace, version } = parts;
    if (podStreams === undefined)
      throw provisionerError("worker-backend", "workers cannot be Pods: this control plane has no address");
    const { openKubernetesBackend } = await import("./kubernetes/open-kubernetes-backend.ts");
    const forward = forwardBy(podStreams);
    return openKubernetesBackend(manager, { settings, namespace, version, forward, tokenOf });
  }
  const { openDockerBackend } = await import("./docker/open-docker-backend.ts");
  try {
    const made = await openDockerBackend({
      ...parts,
      settings,
      directory: `${directory}/docker-workers`,
      tokenOf,
      serve,
      clock,
      log,
    });
    return () => made;
  } catch (thrown) {
    const hint =
      thrown instanceof Error && "hint" in thrown && typeof thrown.hint === "string" ? thrown.hint : undefined;
    const problem = `workers cannot run as containers: ${messageOf(thrown)}`;
    throw provisionerError("worker-backend", problem, { cause: thrown, ...(hint === undefined ? {} : { hint }) });
  }
}
