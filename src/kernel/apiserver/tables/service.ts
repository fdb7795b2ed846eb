import { type JsonObject, listAt, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, none, shown, wide } from "./columns.ts";

export const serviceTable: TableView = {
  columns: [
    nameColumn,
    shown("Type", "How it is reached."),
    shown("Cluster-IP", "Its address inside."),
    shown("External-IP", "Its address outside."),
    shown("Port(s)", "Ports, with those on nodes behind a colon."),
    ageColumn,
    wide("Selector", "Labels of its Pods."),
  ],
  row: (service, now) => {
    const spec = objectAt(service, "spec") ?? {};
    return [
      textAt(service, "metadata", "name") ?? "",
      textAt(spec, "type") ?? "",
      textAt(spec, "clusterIP") ?? none,
      externalAddress(service, spec),
      list(objectsAt(spec, "ports").map(portText)),
      ageOf(valueAt(service, "metadata", "creationTimestamp"), now),
      list(
        Object.entries(objectAt(spec, "selector") ?? {})
          .map(([key, value]) => `${key}=${scalarText(value)}`)
          .sort(),
      ),
    ];
  },
};

/** Without spaces, for scripts. */
const list = (texts: readonly string[]): string => (texts.length === 0 ? none : texts.join(","));

function portText(port: JsonObject): string {
  const nodePort = numberAt(port, "nodePort") ?? 0;
  const outside = nodePort === 0 ? "" : `:${nodePort}`;
  return `${numberAt(port, "port") ?? 0}${outside}/${textAt(port, "protocol") ?? "TCP"}`;
}

function externalAddress(service: JsonObject, spec: JsonObject): string {
  const own = listAt(spec, "externalIPs").map(scalarText);
  if (textAt(spec, "type") === "ExternalName") return textAt(spec, "externalName") ?? none;
  if (textAt(spec, "type") !== "LoadBalancer") return list(own);
  const given = balancerAddresses(service);
  return given.length + own.length === 0 ? "<pending>" : list([...given, ...own]);
}

/** Each address once, sorted. */
export function balancerAddresses(object: JsonObject): readonly string[] {
  const given = objectsAt(object, "status", "loadBalancer", "ingress");
  return [...new Set(given.flatMap((one) => textAt(one, "ip") ?? textAt(one, "hostname") ?? []))].sort();
}
