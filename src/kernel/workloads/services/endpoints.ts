import { isJsonObject, objectsAt } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { matchesLabels, parseLabelSelector } from "#kernel/kit/index.ts";
import { asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { isReady, selects } from "../pods/service-names.ts";

/** Of a Pod: its weight beside the others, default 1. */
export const weightAnnotation = "slipway.dev/weight";
/** Of a Service: weights by label selectors, `{"version=2": 10}`. Pods of a selector share its weight. */
export const weightsAnnotation = "slipway.dev/weights";

export interface Endpoint {
  readonly uid: string;
  readonly address: string;
  readonly port: number;
  readonly weight: number;
}

export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly targetPort: number | string;
  readonly nodePort?: number;
}

/** As the API server allots them. */
const nodePorts = { first: 30_000, last: 32_767 };

/** TCP ports of a Service with a selector. */
export function portsOf(service: KubeObject): readonly ServicePort[] {
  const spec = asJson(service)["spec"];
  if (!isJsonObject(spec) || !isJsonObject(spec["selector"]) || spec["type"] === "ExternalName") return [];
  const hasNodePorts = spec["type"] === "NodePort" || spec["type"] === "LoadBalancer";
  return objectsAt(spec, "ports").flatMap(({ name, port, targetPort, nodePort, protocol = "TCP" }) => {
    if (typeof port !== "number" || protocol !== "TCP") return [];
    const target = typeof targetPort === "number" || typeof targetPort === "string" ? targetPort : port;
    const isGiven = typeof nodePort === "number" && nodePort >= nodePorts.first && nodePort <= nodePorts.last;
    const given = isGiven && hasNodePorts ? { nodePort } : {};
    return [{ name: typeof name === "string" ? name : "", port, targetPort: target, ...given }];
  });
}

/** Ready Pods of a Service with their weights. Nothing is left out for its weight: that is the balancer's part. */
export function endpointsOf(
  service: KubeObject,
  { targetPort }: Pick<ServicePort, "targetPort">,
  pods: readonly Stored<PodObject>[],
): readonly Endpoint[] {
  const ready = pods.filter((pod) => selects(service, pod) && isReady(pod));
  const groupWeight = groupsOf(service);
  return ready.flatMap((pod) => {
    const port = typeof targetPort === "number" ? targetPort : namedPort(pod, targetPort);
    const address = pod.status?.podIP;
    if (port === undefined || address === undefined) return [];
    return [{ uid: pod.metadata.uid, address, port, weight: ownWeight(pod) * groupWeight(pod, ready) }];
  });
}

function namedPort({ spec }: PodObject, name: string): number | undefined {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  return /^\d+$/.test(name) ? Number(name) : ports.find((port) => port.name === name)?.containerPort;
}

function ownWeight({ metadata }: PodObject): number {
  const text = metadata.annotations?.[weightAnnotation] ?? metadata.labels?.[weightAnnotation];
  const weight = Number(text ?? 1);
  return Number.isFinite(weight) && weight >= 0 ? weight : 1;
}

type GroupWeight = (pod: PodObject, all: readonly PodObject[]) => number;

/** A text that cannot be read has no effect. */
function groupsOf({ metadata }: KubeObject): GroupWeight {
  const read = parseJson(metadata.annotations?.[weightsAnnotation] ?? "");
  if (!read.ok || !isJsonObject(read.value)) return () => 1;
  const groups = Object.entries(read.value).flatMap(([text, weight]) => {
    const selector = parseLabelSelector(text);
    return selector.ok && typeof weight === "number" && weight >= 0 ? [{ selector: selector.value, weight }] : [];
  });
  return (pod, all) => {
    const group = groups.find(({ selector }) => matchesLabels(selector, pod.metadata.labels ?? {}));
    if (group === undefined) return groups.length === 0 ? 1 : 0;
    const members = all.filter((other) => matchesLabels(group.selector, other.metadata.labels ?? {}));
    return group.weight / members.length;
  };
}
