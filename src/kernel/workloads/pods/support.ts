import type { RuntimeCapabilities } from "#kernel/runtimes/index.ts";
import type { Container, PodObject, SecurityContext, Volume, VolumeMount } from "../pod-types.ts";
import { hasArtifacts } from "./pod-artifacts.ts";
import { seccompType } from "./container-setup.ts";

// What a runtime cannot do for a pod is decided here, before anything starts. Two questions: would the pod do something else than
// it says (refused), or only something less (told)? A command in the wrong files or as the wrong user is the former; a missing
// limit or probe the latter. What no runtime of ours can do is refused by the API server already when the pod is created.

/** What a runtime makes of a pod. Each entry names a place in the document: `container "main": resources.limits`. */
export interface Support {
  /** Reasons why it must not run here. */
  readonly refusals: readonly string[];
  /** What of it will have no effect. */
  readonly warnings: readonly string[];
}

/** A runtime as far as it matters here, and what its server permits. `isRoot`: tasks without a user of their own run as root. */
export interface RuntimeTraits extends RuntimeCapabilities {
  readonly name: string;
  readonly isRoot: boolean;
  /** Containers may be privileged. */
  readonly allowPrivileged: boolean;
}

/** Sources this program makes itself, whatever the runtime. */
const volumeSources = [
  "emptyDir",
  "hostPath",
  "configMap",
  "secret",
  "downwardAPI",
  "projected",
  "persistentVolumeClaim",
];
/** Members of a security context that host processes have no use for. */
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
/** What an engine has no settings for, or not such as the same document means elsewhere. */
const effectlessInContainers = ["seLinuxOptions", "appArmorProfile", "procMount"];
/** Members of a pod's spec without effect: containers share the machine's network, hosts file and process table. */
const effectlessPod = ["hostAliases", "subdomain", "shareProcessNamespace", "automountServiceAccountToken"];

/** Everything a pod asks for that the runtime cannot do, by name. What changes the pod's meaning is refused, the rest is told. */
export function supportFor(pod: PodObject, traits: RuntimeTraits): Support {
  const refusals: string[] = [];
  const warnings: string[] = [];
  const { spec } = pod;
  for (const volume of spec.volumes ?? []) checkVolume(volume, traits, refusals, warnings);
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
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

/** Set to something that differs from saying nothing: defaults and empty lists ask for nothing. */
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
  // A process has its ports on the machine already, under no other number.
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

/** Engines of API 1.41 mount volumes whole. */
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
  // It would be root on this machine, whoever has created the pod.
  if (context?.["privileged"] === true && !allowPrivileged)
    refusals.push(`${here}: securityContext.privileged (the server permits it with --allow-privileged)`);
  if (seccompType(context ?? {}, {}) === "Localhost")
    refusals.push(`${here}: securityContext.seccompProfile of type Localhost`);
}

/** A user is refused where it cannot be had: a command that runs as somebody else may do anything else. */
function checkUser(container: Container, pod: PodObject, traits: RuntimeTraits, refusals: string[]): void {
  const user = userOf(container, pod);
  const here = `container "${container.name}"`;
  if (user !== undefined && !traits.users) refusals.push(`${here}: securityContext.runAsUser (it needs root)`);
  // Whom an image runs as is known when it is there.
  if (traits.images) return;
  const mustNotBeRoot = container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot;
  if (mustNotBeRoot === true && (user?.uid ?? (traits.isRoot ? 0 : 1)) === 0) {
    refusals.push(`${here}: securityContext.runAsNonRoot (it would run as root)`);
  }
}

/** The user a container asks for; its group is the user's number when only the user is told. */
export function userOf(
  container: Container,
  pod: PodObject,
): { readonly uid: number; readonly gid: number } | undefined {
  const uid = container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
  const gid = container.securityContext?.runAsGroup ?? pod.spec.securityContext?.runAsGroup;
  if (uid === undefined && gid === undefined) return undefined;
  return { uid: uid ?? 0, gid: gid ?? uid ?? 0 };
}

/** A host directory mounted at its own path is there already. */
export const isInPlace = (volume: Volume | undefined, mountPath: string, readOnly: boolean): boolean =>
  volume?.hostPath !== undefined && volume.hostPath.path === mountPath && !readOnly;
