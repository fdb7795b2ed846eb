import { type JsonObject, type JsonValue, numberAt, objectsAt, textAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import { parseQuantity } from "#lib/text/index.ts";

export interface Measure {
  readonly group: string;
  readonly resource: string;
  /** What an object uses; 1 by default. */
  readonly weigh?: (object: JsonObject) => number;
}

const core = (resource: string, weigh?: (object: JsonObject) => number): Measure => ({
  group: "",
  resource,
  ...(weigh === undefined ? {} : { weigh }),
});

/** The names without `count/`. An ended Pod uses nothing. */
const named: ReadonlyMap<string, Measure> = new Map([
  ["pods", core("pods", (pod) => (isEnded(textAt(pod, "status", "phase")) ? 0 : 1))],
  ["configmaps", core("configmaps")],
  ["secrets", core("secrets")],
  ["services", core("services")],
  ["services.loadbalancers", core("services", (service) => (typeOf(service) === "LoadBalancer" ? 1 : 0))],
  ["services.nodeports", core("services", nodePortsOf)],
  ["persistentvolumeclaims", core("persistentvolumeclaims")],
  ["resourcequotas", core("resourcequotas")],
]);

const isEnded = (phase: string | undefined): boolean => phase === "Succeeded" || phase === "Failed";
const typeOf = (service: JsonObject): string | undefined => textAt(service, "spec", "type");

/** Counts ports before they are allocated, too. */
function nodePortsOf(service: JsonObject): number {
  const ports = objectsAt(service, "spec", "ports");
  if (typeOf(service) === "NodePort" || typeOf(service) === "LoadBalancer") return ports.length;
  return ports.filter((port) => (numberAt(port, "nodePort") ?? 0) > 0).length;
}

/** `pods`, `services.nodeports`, or `count/<plural>.<group>`. Undefined for CPU, memory and the like. */
export function measureOf(name: string): Measure | undefined {
  const counted = /^count\/([^.]+)(?:\.(.+))?$/.exec(name);
  if (counted === null) return named.get(name);
  return { group: counted[2] ?? "", resource: counted[1] ?? "" };
}

/** In whole units, rounded up; undefined for an invalid quantity. */
export function quotaAmount(value: JsonValue | undefined): number | undefined {
  const quantity = parseQuantity(scalarText(value));
  return quantity.ok ? Number((quantity.value.nano + 999_999_999n) / 1_000_000_000n) : undefined;
}
