import type { RuntimeCapabilities } from "#kernel/runtimes/index.ts";
import {
  type Container,
  type PodObject,
  type SecurityContext,
  type Volume,
  type VolumeMount,
  allContainers,
} from "../pod-types.ts";
import { hasArtifacts } from "./pod-artifacts.ts";
import { seccompType } from "./container-setup.ts";

// What a runtime cannot do for a pod is decided before anything starts. Settings whose absence changes what the pod
// does (other files, another user) are refused; a missing limit or probe is reported. The API server refuses what no
// runtime can do.

/** Each entry names a place in the document: `container "main": resources.limits`. */
export interface Support {
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

/** `isRoot`: tasks without a user run as root. */
export interface RuntimeTraits extends RuntimeCapabilities {
  readonly name: string;
  readonly isRoot: boolean;
  readonly allowPrivileged: boolean;
}

const volumeSources = [
  "emptyDir",
  "hostPath",
  "configMap",
  "secret",
  "downwardAPI",
  "projected",
  "persistentVolumeClaim",
];
const effectlessSecurity = [
  "privileged",
  "readOnlyRootFilesystem",
  "capabilities",
  "allowPrivilegeEscalation",
  "seccompProfile",
  "seLinuxOptions",
  "appArmorProfile",
  "procMount",
  "fsGroup",
  "supplementalGroups",
  "sysctls",
];
const effectlessInContainers = ["seLinuxOptions", "appArmorProfile", "procMount"];
const effectlessPod = ["hostAliases", "subdomain", "shareProcessNamespace", "automountServiceAccountToken"];

export function supportFor(pod: PodObject, traits: RuntimeTraits): Support {
  const refusals: string[] = [];
  const warnings: string[] = [];
  const { spec } = pod;
  for (const volume of spec.volumes ?? []) checkVolume(volume, traits, refusals, warnings);
  for (const container of allContainers(spec)) {
    checkContainer(container, spec.volumes ?? [], traits, refusals, warnings);
    checkUser(container, pod, traits, refusals);
  }
  if (traits.images && !traits.mounts.supported && hasArtifacts(pod))
    refusals.push(`artifacts (${traits.mounts.reason})`);
  checkSecurity("pod", spec.securityContext, traits, refusals, warnings);
  for (const name of traits.images ? [] : effectlessPod)
    if (isAsked(Reflect.get(spec, name))) warnings.push(`spec.${name}`);
  return { refusals, warnings };
}

/** Defaults and empty values ask for nothing. */
const isAsked = (value: unknown): boolean =>
  value !== undefined &&
  value !== false &&
  value !== "" &&
  !(Array.isArray(value) && value.length === 0) &&
  !(typeof value === "object" && value !== null && Object.keys(value).length === 0);

function checkVolume(volume: Volume, { images }: RuntimeTraits, refusals: string[], warnings: string[]): void {
  const sources = Object.keys(volume).filter((name) => name !== "name" && volume[name] !== undefined);
  for (const source of sources) {
    if (!volumeSources.includes(source)) refusals.push(`volume "${volume.name}" of type ${source}`);
  }
  if (images && volume.emptyDir?.medium === "Memory") return;
  if (isAsked(volume.emptyDir?.medium)) warnings.push(`volume "${volume.name}": emptyDir.medium (it is on disk)`);
  if (isAsked(volume.emptyDir?.sizeLimit)) warnings.push(`volume "${volume.name}": emptyDir.sizeLimit`);
}

function checkContainer(
  container: Container,
  volumes: readonly Volume[],
  traits: RuntimeTraits,
  refusals: string[],
  warnings: string[],
): void {
  const here = `container "${container.name}"`;
  if (!traits.images && (container.command ?? []).length === 0) {
    refusals.push(`${here} without a command (there is no image to take it from)`);
  }
  if (!traits.mounts.supported) {
    for (const mount of container.volumeMounts ?? []) {
      const volume = volumes.find(({ name }) => name === mount.name);
      if (isMountless(volume, mount, traits)) continue;
      refusals.push(`${here}: mounting volume "${mount.name}" at ${mount.mountPath} (${traits.mounts.reason})`);
    }
  }
  if (traits.images) checkMemoryMounts(container, volumes, refusals);
  if (isAsked(container.volumeDevices)) refusals.push(`${here}: volumeDevices`);
  if (!traits.limits && isAsked(container.resources?.limits)) warnings.push(`${here}: resources.limits`);
  // A process has its ports on the machine already.
  if (
    !traits.images &&
    (container.ports ?? []).some((port) => isAsked(port.hostPort) && port.hostPort !== port.containerPort)
  )
    warnings.push(`${here}: hostPort`);
  if (container.stdin === true) warnings.push(`${here}: stdin`);
  if (container.tty === true) warnings.push(`${here}: tty`);
  checkSecurity(here, container.securityContext, traits, refusals, warnings);
}

function isMountless(volume: Volume | undefined, mount: VolumeMount, { images }: RuntimeTraits): boolean {
  if (images) return volume?.emptyDir?.medium === "Memory";
  return isInPlace(volume, mount.mountPath, mount.readOnly === true);
}

/** Engines of API 1.41 cannot mount a part of a volume. */
function checkMemoryMounts(container: Container, volumes: readonly Volume[], refusals: string[]): void {
  for (const { name, subPath, subPathExpr } of container.volumeMounts ?? []) {
    const isInMemory = volumes.some((volume) => volume.name === name && volume.emptyDir?.medium === "Memory");
    if (isInMemory && isAsked(subPath ?? subPathExpr)) {
      refusals.push(`container "${container.name}": subPath of volume "${name}", which is in memory`);
    }
  }
}

function checkSecurity(
  here: string,
  context: SecurityContext | undefined,
  { images, allowPrivileged }: RuntimeTraits,
  refusals: string[],
  warnings: string[],
): void {
  for (const name of images ? effectlessInContainers : effectlessSecurity) {
    if (isAsked(context?.[name])) warnings.push(`${here}: securityContext.${name}`);
  }
  if (!images) return;
  // It would be root on this machine.
  if (context?.["privileged"] === true && !allowPrivileged)
    refusals.push(`${here}: securityContext.privileged (the server permits it with --allow-privileged)`);
  if (seccompType(context ?? {}, {}) === "Localhost")
    refusals.push(`${here}: securityContext.seccompProfile of type Localhost`);
}

function checkUser(container: Container, pod: PodObject, traits: RuntimeTraits, refusals: string[]): void {
  const user = userOf(container, pod);
  const here = `container "${container.name}"`;
  if (user !== undefined && !traits.users) refusals.push(`${here}: securityContext.runAsUser (it needs root)`);
  // The image's user is not known yet.
  if (traits.images) return;
  const mustNotBeRoot = container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot;
  if (mustNotBeRoot === true && (user?.uid ?? (traits.isRoot ? 0 : 1)) === 0) {
    refusals.push(`${here}: securityContext.runAsNonRoot (it would run as root)`);
  }
}

/** The group defaults to the user's number. */
export function userOf(
  container: Container,
  pod: PodObject,
): { readonly uid: number; readonly gid: number } | undefined {
  const uid = container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
  const gid = container.securityContext?.runAsGroup ?? pod.spec.securityContext?.runAsGroup;
  if (uid === undefined && gid === undefined) return undefined;
  return { uid: uid ?? 0, gid: gid ?? uid ?? 0 };
}

export const isInPlace = (volume: Volume | undefined, mountPath: string, readOnly: boolean): boolean =>
  volume?.hostPath !== undefined && volume.hostPath.path === mountPath && !readOnly;
