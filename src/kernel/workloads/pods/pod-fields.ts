import { err, ok, type Result } from "#lib/base/index.ts";
import { parseQuantity, quantityToNumber } from "#lib/text/index.ts";
import { type Container, type PodObject, type ResourceSelector, allContainers } from "../pod-types.ts";

// The downward API. Fields of Kubernetes that do not exist here are refused by name.

export interface Node {
  readonly name: string;
  /** The host IP, and the pod IP where containers share the machine's network. */
  readonly address: string;
  readonly podAddress?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What a container without limits may use. */
  readonly cpus: number;
  readonly memoryBytes: number;
}

const member = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/** A downward API field's value, such as `metadata.labels['app']`. A missing label is empty; other paths are errors. */
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

/** `key="value"` lines by key, quoted as Go does. */
const mapLines = (map: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");

/**
 * A container's limit or request in units of the divisor, rounded up: `limits.cpu` of 1500m is 2. Defaults: the
 * machine's capacity for a limit, 0 for a request. `own` is meant if the selector names no container.
 */
export function resourceValue(
  pod: PodObject,
  selector: ResourceSelector,
  own: Container,
  node: Node,
): Result<string, string> {
  const name = selector.containerName ?? own.name;
  const container = allContainers(pod.spec).find((one) => one.name === name);
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
