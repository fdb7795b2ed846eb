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

/** What runs workers where it is not this machine itself, with the settings of the provisioner that are about it. */
export interface BackendChoice {
  readonly name: "docker" | "kubernetes";
  readonly settings: Configuration;
}

/** What backends are made of. */
export interface BackendParts {
  /** What starts a worker of this machine. Its environment says where an engine is. */
  readonly program: LauncherProgram;
  /** Where steps of workers of this machine run. */
  readonly runtime: LaunchRequest["runtime"];
  /** Processes of this machine when absent. */
  readonly backend?: BackendChoice | undefined;
  /** Where each backend keeps files, in a directory of its own; absolute. */
  readonly directory: string;
  /** What every request to the provisioner must bear. Workers ask for tokens that are made of it. */
  readonly token: string;
  /** Of this program, which the usual image has, too. */
  readonly version: string;
  /** Where workers are stored, and their Pods. */
  readonly namespace: string;
  /** Ways into Pods of the manager's API. */
  readonly podStreams?: (() => PodStreams) | undefined;
}

/** Makes the backend, given whom to tell of news. */
export type MakeBackend = (changed: (worker: WorkerIdentity) => void) => WorkerBackend;

/** The backend that was chosen. Rejects with `worker-backend` when it cannot be used as it is set up; it is seen for the first time here. */
export async function openBackend(manager: Manager, parts: BackendParts): Promise<MakeBackend> {
  const { clock, log } = manager;
  const { program, runtime, backend, directory, token } = parts;
  // Whoever takes results over asks, as he would have asked the worker.
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
