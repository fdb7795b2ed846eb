import { err, ok, type Result } from "#lib/base/index.ts";
import { parseQuantity, quantityToNumber } from "#lib/text/index.ts";
import type { Container, PodObject, ResourceSelector } from "../pod-types.ts";

// The downward API: what a pod may be told of itself by variables and files. Fields that Kubernetes has and this machine has not
// (`status.phase`, annotations of the node) are refused by name rather than shown empty.

/** What is known of the machine that pods run on. */
export interface Node {
  /** What `spec.nodeName` says once a pod is bound. */
  readonly name: string;
  /** Shown as host IP, and as pod IP where containers share the machine's network. */
  readonly address: string;
  /** Of the pod at hand, where pods have addresses of their own. */
  readonly podAddress?: string;
  /** What `spec.nodeSelector` is compared with. */
  readonly labels: Readonly<Record<string, string>>;
  /** What a container without limits may use. */
  readonly cpus: number;
  readonly memoryBytes: number;
}

const member = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/**
 * Value of a field that variables and files may show, as Kubernetes' downward API: metadata (name, namespace, uid, labels,
 * annotations, or one of either as `metadata.labels['app']`), spec.nodeName, spec.serviceAccountName, status.hostIP(s), podIP(s).
 * A label that is not there is empty. Any other path is an error that names it.
 */
export function fieldValue(pod: PodObject, path: string, node: Node): Result<string, string> {
  const { metadata, spec } = pod;
  const inMap = member.exec(path);
  if (inMap !== null) {
    const map = metadata[inMap[1] === "labels" ? "labels" : "annotations"] ?? {};
    const name = inMap[2] ?? "";
    return ok(Object.hasOwn(map, name) ? (map[name] ?? "") : "");
  }
  switch (path) {
    case "metadata.name":
      return ok(metadata.name ?? "");
    case "metadata.namespace":
      return ok(metadata.namespace ?? "");
    case "metadata.uid":
      return ok(metadata.uid ?? "");
    case "metadata.labels":
      return ok(mapLines(metadata.labels));
    case "metadata.annotations":
      return ok(mapLines(metadata.annotations));
    case "spec.nodeName":
      return ok(node.name);
    case "spec.serviceAccountName":
      return ok(spec.serviceAccountName ?? "default");
    case "status.hostIP":
    case "status.hostIPs":
      return ok(node.address);
    case "status.podIP":
    case "status.podIPs":
      return ok(node.podAddress ?? node.address);
    default:
      return err(`field ${path} is not available`);
  }
}

/** `key="value"` lines by key, quoted as Go does for printable text. */
const mapLines = (map: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");

/**
 * Value of a container's limit or request in units of the divisor, rounded up: `limits.cpu` of 1500m is 2, with divisor 1m 1500.
 * Without a limit on cpu or memory it is what the machine has, without a request 0. `own` is the container that asks, which is
 * meant when the selector names none.
 */
export function resourceValue(
  pod: PodObject,
  selector: ResourceSelector,
  own: Container,
  node: Node,
): Result<string, string> {
  const name = selector.containerName ?? own.name;
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((one) => one.name === name);
  if (container === undefined) return err(`container ${name} does not exist`);
  const [kind, resource = ""] = selector.resource.split(".", 2);
  if (kind !== "limits" && kind !== "requests") return err(`resource ${selector.resource} is not available`);
  const amounts = container.resources?.[kind] ?? {};
  const amount = Object.hasOwn(amounts, resource) ? amounts[resource] : undefined;
  const value = amount === undefined ? defaultAmount(kind, resource, node) : numberOf(amount);
  const divisor = selector.divisor === undefined || selector.divisor === "0" ? 1 : numberOf(selector.divisor);
  if (value === undefined || divisor === undefined || divisor === 0)
    return err(`resource ${selector.resource} is not available`);
  return ok(`${Math.ceil(value / divisor)}`);
}

function defaultAmount(kind: "limits" | "requests", resource: string, node: Node): number | undefined {
  if (kind === "requests") return 0;
  if (resource === "cpu") return node.cpus;
  return resource === "memory" ? node.memoryBytes : undefined;
}

function numberOf(text: string): number | undefined {
  const quantity = parseQuantity(text);
  return quantity.ok ? quantityToNumber(quantity.value) : undefined;
}
