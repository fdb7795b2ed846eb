import { hostname } from "node:os";
import type { Clock, Logger } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { openContainerEngine } from "#kernel/runtimes/index.ts";
import type { Configuration } from "../../configuration/keys.ts";
import { machineLogins } from "../../worker/docker/machine-logins.ts";
import { provisionerError } from "../errors.ts";
import type { LauncherProgram } from "../host/spawn-launcher.ts";
import { workerImage } from "../worker-image.ts";
import { DockerBackend, type DockerOptions } from "./docker-backend.ts";

export interface OpenDockerBackend extends Pick<DockerOptions, "directory" | "serve" | "tokenOf"> {
  readonly settings: Configuration;
  readonly program: LauncherProgram;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Rejects if the engine does not answer, is remote or its network has no published ports. */
export async function openDockerBackend({ settings, program, version, ...more }: OpenDockerBackend) {
  const network = settings["provisioner.docker.network"];
  if (network !== undefined && /^(?:host|none|container:.*)$/.test(network))
    throw provisionerError(
      "worker-backend",
      `provisioner.docker.network: workers cannot be in the network "${network}"`,
      {
        hint: "each answers at a port of its own, which the engine publishes for this machine alone: name a bridge, such as of `docker network create wharf`",
      },
    );
  const variable = (name: string) => program.environment[name] || undefined;
  const place = { variable, home: variable("HOME") ?? "/" };
  const engine = await openContainerEngine(place, more.clock);
  try {
    if (!engine.isLocal)
      throw provisionerError("worker-backend", `the engine at ${engine.address} is on another machine`, {
        hint: "workers answer at the loopback address of their engine's machine: run the provisioner there, too",
      });
    await engine.version();
  } catch (thrown) {
    engine.close();
    throw thrown;
  }
  return new DockerBackend({
    ...more,
    engine,
    logins: machineLogins({ ...place, clock: more.clock }),
    // Steps use the same engine.
    runtime: "docker",
    setup: {
      image: settings["provisioner.docker.image"] ?? workerImage(version),
      network,
      socket: engine.address.replace(/^unix:\/\//, ""),
      provisioner: hashName([hostname(), more.directory], 16),
    },
  });
}
