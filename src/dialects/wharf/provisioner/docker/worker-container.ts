import type { JsonObject } from "#lib/base/index.ts";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import type { WorkerIdentity } from "../backend.ts";
import { directoryName, factsFile, factsIn, type LaunchRequest, requestFile } from "../host/worker-directory.ts";
import { workerLabels } from "../worker-labels.ts";

/** Where a worker has its directory, which is that of a worker of a host, within its container. On a volume, which the container need not outlive. */
export const workerHome = "/var/lib/slipway/worker";
/** Where it serves its results, within its container. */
export const workerPort = 5010;
/** Its port as the engine calls it. */
export const enginePort = `${workerPort}/tcp`;

/** Says of a container or volume which provisioner has made it: those of others are left alone. */
export const provisionerLabel = "slipway.dev/provisioner";

/** What its program is told to read. One container is started once, so that one request is enough. */
const launch = "start";

/** Containers of one machine that have something in common. */
export interface WorkerSetup {
  /** With `slipway` on its PATH, Git, and SSH where repositories want that. */
  readonly image: string;
  /** The network that containers join; the engine's usual one when absent. */
  readonly network?: string | undefined;
  /** The engine's socket on its machine, by which builds run their steps. */
  readonly socket: string;
  /** Of the provisioner, for its label. */
  readonly provisioner: string;
}

/** The name of a worker's container and of its volume: of two workers of one name each has its own. */
export const containerName = (worker: WorkerIdentity): string => directoryName(worker);

/** Settings of a worker's container, for the engine. Nothing that is secret is in them: everybody who may use the engine reads them. */
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
      // Any free port, of this machine alone.
      PortBindings: { [enginePort]: [{ HostIp: "127.0.0.1", HostPort: "" }] },
      ...(network === undefined ? {} : { NetworkMode: network }),
      // What has been begun is never begun again.
      RestartPolicy: { Name: "no" },
      // Everything is in its results, too; this copy is for who looks at the container.
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "1" } },
    },
  };
}

/** The files that a container gets before its start, to be unpacked in its directory. Root alone can read them. */
export const requestArchive = (request: LaunchRequest): Buffer =>
  Buffer.concat([
    fileIn(requestFile("", launch), JSON.stringify(request)),
    fileIn(factsFile(""), JSON.stringify(factsIn(request))),
    endOfArchive,
  ]);

/** An archive of one empty file, which says by its being there that something was done. */
export const markArchive = (name: string): Buffer => Buffer.concat([fileIn(name, ""), endOfArchive]);

function fileIn(path: string, text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = headerOf({ path, kind: "file", mode: 0o600, modified: 0, size: bytes.length });
  return Buffer.concat([header, bytes, paddingOf(bytes.length)]);
}
