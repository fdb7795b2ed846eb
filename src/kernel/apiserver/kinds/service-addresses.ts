import { type JsonObject, type Random, listAt, numberAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "#lib/schema/index.ts";
import { withMembers } from "#kernel/specs/index.ts";
import type { Allotment } from "./served-resource.ts";

// Assigns Services' addresses and ports. The Services themselves are the record of what is taken.

/** Kubernetes' usual range, 10.96.0.0/16; the first address is the API server's. */
const network = [10, 96] as const;
const firstHost = 2;
const lastHost = 65_534;
const nodePorts = { from: 30_000, to: 32_767 } as const;

export const needsNodePorts = (spec: JsonObject): boolean =>
  textAt(spec, "type") === "NodePort" || textAt(spec, "type") === "LoadBalancer";

export const needsAddress = (spec: JsonObject): boolean => textAt(spec, "type") !== "ExternalName";

/** A headless service. */
export const isNone = (spec: JsonObject): boolean => textAt(spec, "clusterIP") === "None";

/** Grants or refuses requested addresses and ports. Linear in the number of Services. */
export function allotAddresses(service: JsonObject, others: Iterable<JsonObject>, random: Random): Allotment {
  const spec = objectAt(service, "spec") ?? {};
  if (!needsAddress(spec)) return { object: service, causes: [] };
  const causes: FieldError[] = [];
  const taken = takenBy(others);
  const clusterIP = textAt(spec, "clusterIP") ?? freeAddress(taken.addresses, random);
  if (clusterIP === undefined) causes.push(fieldError.invalid("spec.clusterIPs[0]", null, "the range is full"));
  const problem = addressProblem(clusterIP ?? "None", taken.addresses);
  if (problem !== undefined) causes.push(fieldError.invalid("spec.clusterIPs[0]", clusterIP, problem));
  const asked = listAt(spec, "clusterIPs");
  if (asked.length > 0 && (asked.length > 1 || asked[0] !== clusterIP))
    causes.push(fieldError.invalid("spec.clusterIPs", asked, "must be the one address of `clusterIP`"));
  const ports = needsNodePorts(spec) ? withNodePorts(spec, taken.ports, random, causes) : {};
  const one = { clusterIP: clusterIP ?? null, clusterIPs: [clusterIP ?? null] };
  const family = { ipFamilies: ["IPv4"], ipFamilyPolicy: textAt(spec, "ipFamilyPolicy") ?? "SingleStack" };
  return { object: withMembers(service, { spec: { ...spec, ...ports, ...one, ...family } }), causes };
}

interface Taken {
  readonly addresses: ReadonlySet<string>;
  readonly ports: ReadonlySet<string>;
}

function takenBy(services: Iterable<JsonObject>): Taken {
  const [addresses, ports] = [new Set<string>(), new Set<string>()];
  for (const service of services) {
    const spec = objectAt(service, "spec") ?? {};
    addresses.add(textAt(spec, "clusterIP") ?? "None");
    for (const port of objectsAt(spec, "ports")) ports.add(portKey(port, numberAt(port, "nodePort") ?? 0));
  }
  return { addresses, ports };
}

const portKey = (port: JsonObject, number: number): string => `${number}/${textAt(port, "protocol") ?? "TCP"}`;

/** Starts anywhere, so that a freed address is not reused at once. */
function freeAddress(taken: ReadonlySet<string>, random: Random): string | undefined {
  return firstFree(firstHost, lastHost, random, (host) => {
    const address = [...network, host >> 8, host & 255].join(".");
    return taken.has(address) ? undefined : address;
  });
}

/** The first match from a random start, wrapping around. */
function firstFree<T>(
  from: number,
  to: number,
  random: Random,
  suits: (value: number) => T | undefined,
): T | undefined {
  const size = to - from + 1;
  const start = Math.floor(random() * size);
  for (let step = 0; step < size; step++) {
    const found = suits(from + ((start + step) % size));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Without leading zeros, which some readers take for octal (CVE-2021-29923). */
const numberInAddress = /^(?:0|[1-9]\d{0,2})$/;

/** In kube-apiserver's words. */
function addressProblem(address: string, taken: ReadonlySet<string>): string | undefined {
  if (address === "None") return undefined;
  const parts = address.split(".");
  const isAddress = parts.length === 4 && parts.every((part) => numberInAddress.test(part) && Number(part) < 256);
  if (!isAddress) return "must be empty, 'None', or a valid IP address";
  if (Number(parts[0]) !== network[0] || Number(parts[1]) !== network[1])
    return `provided IP is not in the valid range. The range of valid IPs is ${network.join(".")}.0.0/16`;
  return taken.has(address) ? "provided IP is already allocated" : undefined;
}

/** Includes the Service's own other ports as taken. */
function withNodePorts(spec: JsonObject, taken: ReadonlySet<string>, random: Random, causes: FieldError[]): JsonObject {
  const own = new Set(taken);
  const ports = objectsAt(spec, "ports").map((port, index) => {
    const asked = numberAt(port, "nodePort") ?? 0;
    const here = ["spec", "ports", index, "nodePort"];
    const nodePort = asked === 0 ? freePort(port, own, random) : asked;
    if (nodePort === undefined) causes.push(fieldError.invalid(here, 0, "the range of node ports is full"));
    else if (nodePort < nodePorts.from || nodePort > nodePorts.to)
      causes.push(
        fieldError.invalid(
          here,
          nodePort,
          `provided port is not in the valid range. The range of valid ports is ${nodePorts.from}-${nodePorts.to}`,
        ),
      );
    else if (own.has(portKey(port, nodePort)))
      causes.push(fieldError.invalid(here, nodePort, "provided port is already allocated"));
    own.add(portKey(port, nodePort ?? 0));
    return { ...port, nodePort: nodePort ?? 0 };
  });
  return { ports };
}

const freePort = (port: JsonObject, taken: ReadonlySet<string>, random: Random): number | undefined =>
  firstFree(nodePorts.from, nodePorts.to, random, (number) => (taken.has(portKey(port, number)) ? undefined : number));
