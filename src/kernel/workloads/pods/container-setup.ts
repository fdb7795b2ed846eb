import { parseQuantity, quantityToNumber } from "#lib/text/index.ts";
import type { ContainerSetup, ImageFacts, Sandbox } from "#kernel/runtimes/index.ts";
import { type Container, type PodObject, type SecurityContext, allContainers } from "../pod-types.ts";

// Translates a pod's containers for a runtime with images. Pure; unsupported settings were refused before.

export function containerSetup(
  pod: PodObject,
  container: Container,
  image: ImageFacts,
): Omit<ContainerSetup, "command" | "args" | "workingDirectory" | "memoryMounts"> {
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext ?? {};
  const user = userText(own, shared, image);
  const capabilities = asLists(own["capabilities"]);
  return {
    image: image.id,
    sandbox: pod.metadata.uid ?? "",
    ...(user === undefined ? {} : { user }),
    groups: groupsOf(shared),
    limits: limitsOf(container),
    readOnlyRoot: own["readOnlyRootFilesystem"] === true,
    addedCapabilities: capabilities("add"),
    droppedCapabilities: capabilities("drop"),
    mayGainRights: own["allowPrivilegeEscalation"] !== false,
    filtersCalls: seccompType(own, shared) !== "Unconfined",
    isPrivileged: own["privileged"] === true,
  };
}

/** The container's setting wins over the pod's, member by member. */
function userText(own: SecurityContext, shared: SecurityContext, image: ImageFacts): string | undefined {
  const uid = own.runAsUser ?? shared.runAsUser;
  const gid = own.runAsGroup ?? shared.runAsGroup;
  if (uid === undefined && gid === undefined) return undefined;
  const user = uid === undefined ? image.user.replace(/:.*$/, "") || "0" : `${uid}`;
  return gid === undefined ? user : `${user}:${gid}`;
}

/** Why a container with runAsNonRoot must not run, in the kubelet's words; undefined if it may. */
export function rootRefusal(pod: PodObject, container: Container, image: ImageFacts): string | undefined {
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext ?? {};
  if ((own.runAsNonRoot ?? shared.runAsNonRoot) !== true) return undefined;
  const uid = own.runAsUser ?? shared.runAsUser;
  if (uid !== undefined) return uid === 0 ? "container's runAsUser breaks non-root policy" : undefined;
  const user = image.user.replace(/:.*$/, "");
  if (user === "" || user === "0" || user === "root") return "container has runAsNonRoot and image will run as root";
  if (/^\d+$/.test(user)) return undefined;
  return `container has runAsNonRoot and image has non-numeric user (${user}), cannot verify user is non-root`;
}

function groupsOf(shared: SecurityContext): readonly number[] {
  const groups = Array.isArray(shared["supplementalGroups"]) ? shared["supplementalGroups"] : [];
  const all = [shared["fsGroup"], ...(groups as readonly unknown[])];
  return all.filter((group): group is number => typeof group === "number");
}

const asLists =
  (value: unknown) =>
  (member: string): readonly string[] => {
    const list: unknown = typeof value === "object" && value !== null ? Reflect.get(value, member) : undefined;
    return Array.isArray(list) ? list.filter((name): name is string => typeof name === "string") : [];
  };

export function seccompType(own: SecurityContext, shared: SecurityContext): string | undefined {
  const profile = own["seccompProfile"] ?? shared["seccompProfile"];
  const type: unknown = typeof profile === "object" && profile !== null ? Reflect.get(profile, "type") : undefined;
  return typeof type === "string" ? type : undefined;
}

/** The smallest limit that kernel and kubelet accept. */
const leastMemory = 6 * 1024 * 1024;

/** A request is a weight under contention; without one the limit stands in, as in Kubernetes. */
function limitsOf({ resources }: Container): ContainerSetup["limits"] {
  const memory = amount(resources?.limits?.["memory"]);
  const cpus = amount(resources?.limits?.["cpu"]);
  const asked = amount(resources?.requests?.["cpu"]) ?? cpus;
  return {
    ...(memory === undefined || memory === 0 ? {} : { memoryBytes: Math.max(leastMemory, Math.ceil(memory)) }),
    ...(cpus === undefined || cpus === 0 ? {} : { cpus: Math.max(0.01, cpus) }),
    ...(asked === undefined ? {} : { cpuShares: Math.max(2, Math.round(asked * 1024)) }),
  };
}

/** A quantity as a number of bytes or processors; undefined if absent or invalid. */
function amount(text: string | undefined): number | undefined {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity?.ok === true ? quantityToNumber(quantity.value) : undefined;
}

export const clusterDomain = "cluster.local";

export function sandboxOf(pod: PodObject, names: readonly string[]): Sandbox {
  const { uid = "", namespace = "", name = "" } = pod.metadata;
  const { spec } = pod;
  const hostname = (spec.hostname ?? name).slice(0, 63).replace(/[-.]+$/, "");
  const domain = `${namespace}.svc.${clusterDomain}`;
  return {
    id: uid,
    namespace,
    name,
    hostname,
    hostNetwork: spec.hostNetwork === true,
    names: [...names, ...hostNames(hostname, spec.subdomain, domain)],
    searches: [domain, `svc.${clusterDomain}`, clusterDomain],
    hosts: (spec.hostAliases ?? []).flatMap(({ ip, hostnames }) =>
      (hostnames ?? []).map((alias) => ({ name: alias, address: ip })),
    ),
    ports: portsOf(pod),
    sysctls: Object.fromEntries((spec.securityContext?.sysctls ?? []).map((one) => [one.name, one.value])),
    memoryVolumes: (spec.volumes ?? []).filter(isInMemory).map((volume) => ({
      name: volume.name,
      ...sizeOf(volume.emptyDir?.sizeLimit),
    })),
    sharesProcesses: spec.shareProcessNamespace === true,
  };
}

/** A subdomain gives a name under it, as in Kubernetes. Without one the hostname is enough, unlike in Kubernetes. */
const hostNames = (hostname: string, subdomain: string | undefined, domain: string): readonly string[] => [
  `${hostname}.${domain}`,
  ...(subdomain === undefined || subdomain === ""
    ? []
    : [`${hostname}.${subdomain}.${domain}`, `${hostname}.${subdomain}`]),
];

/** Only host ports need publishing. */
function portsOf({ spec }: PodObject): Sandbox["ports"] {
  return allContainers(spec).flatMap(({ ports }) =>
    (ports ?? []).flatMap(({ containerPort, hostPort, hostIP, protocol }) => {
      if (containerPort === undefined || hostPort === undefined || hostPort === 0) return [];
      const kind = (protocol ?? "TCP").toLowerCase();
      if (kind !== "tcp" && kind !== "udp" && kind !== "sctp") return [];
      return [{ port: containerPort, hostPort, protocol: kind, ...(hostIP ? { address: hostIP } : {}) } as const];
    }),
  );
}

export const isInMemory = ({ emptyDir }: { readonly emptyDir?: { readonly medium?: string } }): boolean =>
  emptyDir?.medium === "Memory";

function sizeOf(limit: string | undefined): { readonly sizeBytes?: number } {
  const bytes = amount(limit);
  return bytes === undefined || bytes === 0 ? {} : { sizeBytes: Math.ceil(bytes) };
}
