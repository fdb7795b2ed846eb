import type { JsonObject } from "#lib/base/index.ts";
import type { ContainerSetup, Sandbox, Task } from "../contract.ts";
import { engineName, labels, networkName, sandboxName } from "./names.ts";

// The bodies of `POST /containers/create`. Pure.

export interface Owner {
  readonly store: string;
  /** For stores in memory: their process. */
  readonly process?: string;
}

/** The engine's copy of the output, to rewrite our log after a crash. Every engine can read `json-file` back. */
const logging: JsonObject = { Type: "json-file", Config: { "max-size": "10m", "max-file": "5" } };

/** A later process finds its own containers by these labels, and a clean-up those of dead processes. */
const ownerLabels = ({ store, process }: Owner): Readonly<Record<string, string>> => ({
  [labels.store]: store,
  ...(process === undefined ? {} : { [labels.owner]: process }),
});

/** The container of a task. Its name follows from the id, so that the engine refuses a second one. */
export function taskContainer(task: Task, setup: ContainerSetup, sandbox: Sandbox, owner: Owner): JsonObject {
  const pause = sandboxName(owner.store, sandbox.id);
  const shared = `container:${pause}`;
  return {
    Image: setup.image,
    // `null` keeps the image's own; setting an entry point drops the image's command, as in Kubernetes.
    Entrypoint: setup.command === undefined ? null : [...setup.command],
    Cmd: setup.args === undefined ? null : [...setup.args],
    Env: Object.entries(task.env).map(([name, value]) => `${name}=${value}`),
    WorkingDir: setup.workingDirectory ?? "",
    User: setup.user ?? "",
    AttachStdout: true,
    AttachStderr: true,
    Labels: {
      ...ownerLabels(owner),
      [labels.role]: "task",
      [labels.task]: task.id,
      [labels.sandbox]: sandbox.id,
      [labels.pod]: `${sandbox.namespace}/${sandbox.name}`,
      [labels.log]: task.logPath,
      // Always set: a label of the image must not take their place and name a file of this machine.
      [labels.masked]: task.maskedVariables?.join(",") ?? "",
      [labels.message]: task.message ?? "",
    },
    HostConfig: {
      NetworkMode: sandbox.hostNetwork ? "host" : shared,
      IpcMode: shared,
      ...(sandbox.sharesProcesses ? { PidMode: shared } : {}),
      LogConfig: logging,
      RestartPolicy: { Name: "no" },
      Mounts: mountsOf(task, setup, owner),
      GroupAdd: setup.groups.map(String),
      ReadonlyRootfs: setup.readOnlyRoot,
      Privileged: setup.isPrivileged,
      CapAdd: [...setup.addedCapabilities],
      CapDrop: [...setup.droppedCapabilities],
      SecurityOpt: [
        ...(setup.mayGainRights ? [] : ["no-new-privileges"]),
        ...(setup.filtersCalls ? [] : ["seccomp=unconfined"]),
      ],
      ...limitsOf(setup),
    },
  };
}

/** `MemorySwap` is the sum of both: the same number means no swap. */
function limitsOf({ limits: { memoryBytes, cpus, cpuShares } }: ContainerSetup): JsonObject {
  return {
    ...(memoryBytes === undefined ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
    ...(cpus === undefined ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
    ...(cpuShares === undefined ? {} : { CpuShares: cpuShares }),
  };
}

/** Shorter paths first: a nested mount must come later. */
function mountsOf(task: Task, setup: ContainerSetup, { store }: Owner): JsonObject[] {
  const files = (task.mounts ?? []).map(({ source, target, readOnly }) => ({
    Type: "bind",
    Source: source,
    Target: target,
    ReadOnly: readOnly,
  }));
  const memory = setup.memoryMounts.map(({ volume, target, readOnly }) => ({
    Type: "volume",
    Source: volumeName(store, setup.sandbox, volume),
    Target: target,
    ReadOnly: readOnly,
  }));
  return [...files, ...memory].sort((a, b) => a.Target.length - b.Target.length);
}

export const volumeName = (store: string, sandbox: string, volume: string): string =>
  engineName(store, `${sandbox}/volume/${volume}`);

/** A volume in memory exists while a container uses it, and the pause container always does. */
export function memoryVolume(sandbox: Sandbox, volume: Sandbox["memoryVolumes"][number], owner: Owner): JsonObject {
  const size = volume.sizeBytes === undefined ? "" : `,size=${volume.sizeBytes}`;
  return {
    Name: volumeName(owner.store, sandbox.id, volume.name),
    Driver: "local",
    DriverOpts: { type: "tmpfs", device: "tmpfs", o: `mode=1777${size}` },
    Labels: { ...ownerLabels(owner), [labels.role]: "volume", [labels.sandbox]: sandbox.id },
  };
}

export function pauseContainer(sandbox: Sandbox, image: string, owner: Owner): JsonObject {
  const network = networkName(owner.store);
  const ports = sandbox.hostNetwork ? [] : sandbox.ports;
  return {
    Image: image,
    ...(sandbox.hostNetwork ? {} : { Hostname: sandbox.hostname }),
    Labels: {
      ...ownerLabels(owner),
      [labels.role]: "sandbox",
      [labels.sandbox]: sandbox.id,
      [labels.pod]: `${sandbox.namespace}/${sandbox.name}`,
    },
    ExposedPorts: Object.fromEntries(ports.map(({ port, protocol }) => [`${port}/${protocol}`, {}])),
    HostConfig: {
      NetworkMode: sandbox.hostNetwork ? "host" : network,
      IpcMode: "shareable",
      LogConfig: { Type: "none" },
      RestartPolicy: { Name: "no" },
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      Mounts: sandbox.memoryVolumes.map(({ name }) => ({
        Type: "volume",
        Source: volumeName(owner.store, sandbox.id, name),
        Target: `/volumes/${name}`,
      })),
      ...(sandbox.hostNetwork ? {} : nameSettings(sandbox)),
      ExtraHosts: sandbox.hosts.map(({ name, address }) => `${name}:${address}`),
      Sysctls: { ...sandbox.sysctls },
      PortBindings: Object.fromEntries(
        ports.map(({ port, protocol, hostPort, address = "" }) => [
          `${port}/${protocol}`,
          [{ HostIp: address, HostPort: `${hostPort}` }],
        ]),
      ),
    },
    ...(sandbox.hostNetwork
      ? {}
      : { NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: [...sandbox.names] } } } }),
  };
}

/**
 * Full names have a dot and are looked up as they are; short ones in the pod's namespace first. With Kubernetes' five
 * dots every name would first be tried with each domain, and the engine would ask outside resolvers.
 */
const nameSettings = ({ searches }: Sandbox): JsonObject => ({ DnsSearch: [...searches], DnsOptions: ["ndots:1"] });
