import { createHash } from "node:crypto";
import { allContainers, type PodObject } from "../pod-types.ts";

const asked: ReadonlySet<string> = new Set(["status.podIP", "status.podIPs"]);

/**
 * Address of a pod whose containers are processes. A pod that asks for its address in an environment variable gets a
 * loopback address of its own, which Linux has without setup, so that replicas that listen there share a port. Others
 * have the node's: their programs may listen on `localhost` only.
 */
export function processAddress(pod: PodObject, nodeAddress: string, platform: string = process.platform): string {
  const isAsked = allContainers(pod.spec).some(({ env = [] }) =>
    env.some(({ valueFrom }) => asked.has(valueFrom?.fieldRef?.fieldPath ?? "")),
  );
  if (!isAsked || pod.spec.hostNetwork === true || platform !== "linux") return nodeAddress;
  const [a = 0, b = 0, c = 0] = createHash("sha256")
    .update(pod.metadata.uid ?? "")
    .digest();
  // Not 127.0.0.0/16, where other programs of the machine listen, and no network or broadcast address.
  return `127.${1 + (a % 254)}.${b}.${1 + (c % 254)}`;
}
