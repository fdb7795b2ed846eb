import type { RuntimeCapabilities } from "#kernel/runtimes/index.ts";
import type { Container, PodObject, SecurityContext, Volume } from "../pod-types.ts";

/** What a runtime makes of a pod: reasons why it must not run here, and what of it will have no effect. */
export interface Support {
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

/** A runtime as far as it matters here. `isRoot`: tasks without a user of their own run as root. */
export interface RuntimeTraits extends RuntimeCapabilities {
  readonly name: string;
  readonly isRoot: boolean;
}

const volumeSources = ["emptyDir", "hostPath", "configMap", "secret", "downwardAPI", "projected"];
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
const effectlessPod = ["hostAliases", "subdomain", "shareProcessNamespace"];
const probes = ["livenessProbe", "readinessProbe", "startupProbe"] as const;

/** Everything a pod asks for that the runtime cannot do, by name. What changes the pod's meaning is refused, the rest is told. */
export function supportFor(pod: PodObject, traits: RuntimeTraits): Support {
  const refusals: string[] = [];
  const warnings: string[] = [];
  const { spec } = pod;
  for (const volume of spec.volumes ?? []) checkVolume(volume, refusals, warnings);
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === "Always")
      refusals.push(`initContainers "${container.name}": sidecars (restartPolicy Always)`);
  }
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    checkContainer(container, spec.volumes ?? [], traits, refusals, warnings);
    checkUser(container, pod, traits, refusals);
  }
  checkSecurity("pod", spec.securityContext, warnings);
  for (const name of effectlessPod) if (isAsked(Reflect.get(spec, name))) warnings.push(`spec.${name}`);
  return { refusals, warnings };
}

const isAsked = (value: unknown): boolean =>
  value !== undefined &&
  value !== false &&
  value !== "" &&
  !(Array.isArray(value) && value.length === 0) &&
  !(typeof value === "object" && value !== null && Object.keys(value).length === 0);

function checkVolume(volume: Volume, refusals: string[], warnings: string[]): void {
  const sources = Object.keys(volume).filter((name) => name !== "name" && volume[name] !== undefined);
  for (const source of sources) {
    if (!volumeSources.includes(source)) refusals.push(`volume "${volume.name}" of type ${source}`);
  }
  for (const source of volume.projected?.sources ?? []) {
    if (source["serviceAccountToken"] !== undefined) refusals.push(`volume "${volume.name}": serviceAccountToken`);
  }
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
      if (isInPlace(volume, mount.mountPath, mount.readOnly === true)) continue;
      refusals.push(`${here}: mounting volume "${mount.name}" at ${mount.mountPath} (${traits.mounts.reason})`);
    }
  }
  if (isAsked(container.volumeDevices)) refusals.push(`${here}: volumeDevices`);
  if (container.lifecycle?.postStart !== undefined) refusals.push(`${here}: lifecycle.postStart`);
  const preStop = container.lifecycle?.preStop;
  if (preStop !== undefined && preStop.exec === undefined) {
    refusals.push(`${here}: lifecycle.preStop of type ${Object.keys(preStop).join(", ")}`);
  }
  for (const probe of probes) if (isAsked(container[probe])) warnings.push(`${here}: ${probe}`);
  if (!traits.limits && isAsked(container.resources?.limits)) warnings.push(`${here}: resources.limits`);
  if ((container.ports ?? []).some((port) => isAsked(port.hostPort))) warnings.push(`${here}: hostPort`);
  if (container.stdin === true) warnings.push(`${here}: stdin`);
  if (container.tty === true) warnings.push(`${here}: tty`);
  checkSecurity(here, container.securityContext, warnings);
}

function checkSecurity(here: string, context: SecurityContext | undefined, warnings: string[]): void {
  for (const name of effectlessSecurity) {
    if (isAsked(context?.[name])) warnings.push(`${here}: securityContext.${name}`);
  }
}

function checkUser(container: Container, pod: PodObject, traits: RuntimeTraits, refusals: string[]): void {
  const user = userOf(container, pod);
  const here = `container "${container.name}"`;
  if (user !== undefined && !traits.users) refusals.push(`${here}: securityContext.runAsUser (it needs root)`);
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
