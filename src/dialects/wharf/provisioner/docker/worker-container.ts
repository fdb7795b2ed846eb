import type { JsonObject } from "#lib/base/index.ts";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import type { WorkerIdentity } from "../backend.ts";
import { directoryName, factsFile, factsIn, type LaunchRequest, requestFile } from "../host/worker-directory.ts";
import { workerLabels } from "../worker-labels.ts";

/** A volume, which outlives the container. */
export const workerHome = "/var/lib/slipway/worker";
export const workerPort = 5010;
export const enginePort = `${workerPort}/tcp`;

/** Identifies the provisioner that created a container or volume. */
export const provisionerLabel = "slipway.dev/provisioner";

const launch = "start";

export interface WorkerSetup {
  readonly image: string;
  readonly network?: string | undefined;
  readonly socket: string;
  readonly provisioner: string;
}

export const containerName = (worker: WorkerIdentity): string => directoryName(worker);

/** Contains no secrets: all users of the engine can read it. */
export function workerContainer(worker: WorkerIdentity, request: LaunchRequest, setup: WorkerSetup): JsonObject {
  const { image, network, socket, provisioner } = setup;
  const labels = { ...workerLabels(worker, request), [provisionerLabel]: provisioner };
  return {
    Image: image,
    Entrypoint: ["slipway"],
    Cmd: ["wharf", "launch", workerHome, launch],
    Labels: labels,
    ExposedPorts: { [enginePort]: {} },
    HostConfig: {
      Mounts: [
        {
          Type: "volume",
          Source: containerName(worker),
          Target: workerHome,
          VolumeOptions: { Labels: labels },
        },
        { Type: "bind", Source: socket, Target: "/var/run/docker.sock" },
      ],
      // A free loopback port.
      PortBindings: { [enginePort]: [{ HostIp: "127.0.0.1", HostPort: "" }] },
      ...(network === undefined ? {} : { NetworkMode: network }),
      // A worker is never started again.
      RestartPolicy: { Name: "no" },
      // A copy for people; the results have everything.
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "1" } },
    },
  };
}

export const requestArchive = (request: LaunchRequest): Buffer =>
  Buffer.concat([
    fileIn(requestFile("", launch), JSON.stringify(request)),
    fileIn(factsFile(""), JSON.stringify(factsIn(request))),
    endOfArchive,
  ]);

/** An empty file that marks something as done. */
export const markArchive = (name: string): Buffer => Buffer.concat([fileIn(name, ""), endOfArchive]);

function fileIn(path: string, text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = headerOf({ path, kind: "file", mode: 0o600, modified: 0, size: bytes.length });
  return Buffer.concat([header, bytes, paddingOf(bytes.length)]);
}
