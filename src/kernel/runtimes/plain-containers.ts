import type { ContainerSetup, Sandbox } from "./contract.ts";

/** A sandbox with nothing special about it. */
export const plainSandbox = (id: string, more: Partial<Sandbox> = {}): Sandbox => ({
  id,
  namespace: "default",
  name: id,
  hostname: id,
  hostNetwork: false,
  names: [`${id}.pod`],
  searches: [],
  hosts: [],
  ports: [],
  sysctls: {},
  memoryVolumes: [],
  sharesProcesses: false,
  ...more,
});

/** A container with nothing special about it. */
export const plainSetup = (image: string, sandbox: string, more: Partial<ContainerSetup> = {}): ContainerSetup => ({
  image,
  sandbox,
  groups: [],
  memoryMounts: [],
  limits: {},
  readOnlyRoot: false,
  addedCapabilities: [],
  droppedCapabilities: [],
  mayGainRights: true,
  filtersCalls: true,
  isPrivileged: false,
  ...more,
});
