import { type Instant, type JsonObject, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, none, shown, wide } from "./columns.ts";
import { formatSelector } from "./job.ts";
import { balancerAddresses } from "./service.ts";

// Tables of kinds without a controller here; counts come from a status that a client wrote.

export const name = (object: JsonObject): string => textAt(object, "metadata", "name") ?? "";
export const age = (object: JsonObject, now: Instant): string =>
  ageOf(valueAt(object, "metadata", "creationTimestamp"), now);
export const count = (object: JsonObject, ...path: readonly string[]): number => numberAt(object, ...path) ?? 0;
export const containers = (object: JsonObject, member: string): string =>
  objectsAt(object, "spec", "template", "spec", "containers")
    .map((container) => textAt(container, member) ?? "")
    .join(",");

export const integer = { type: "integer" } as const;

export const daemonSetTable: TableView = {
  columns: [
    nameColumn,
    shown("Desired", "Machines that should have a Pod.", integer),
    shown("Current", "Machines that have one.", integer),
    shown("Ready", "Machines whose Pod is ready.", integer),
    shown("Up-to-date", "Machines whose Pod is of the present template.", integer),
    shown("Available", "Machines whose Pod has been ready for minReadySeconds.", integer),
    shown("Node Selector", "Labels of the machines."),
    ageColumn,
    wide("Containers", "Names of the containers."),
    wide("Images", "Images of the containers."),
    wide("Selector", "Labels of the Pods."),
  ],
  row: (set, now) => [
    name(set),
    count(set, "status", "desiredNumberScheduled"),
    count(set, "status", "currentNumberScheduled"),
    count(set, "status", "numberReady"),
    count(set, "status", "updatedNumberScheduled"),
    count(set, "status", "numberAvailable"),
    formatSelector({ matchLabels: objectAt(set, "spec", "template", "spec", "nodeSelector") ?? {} }),
    age(set, now),
    containers(set, "name"),
    containers(set, "image"),
    formatSelector(objectAt(set, "spec", "selector")),
  ],
};

/** 80, and 443 with TLS. */
export const ingressTable: TableView = {
  columns: [
    nameColumn,
    shown("Class", "Which controller it is for."),
    shown("Hosts", "Names it answers to."),
    shown("Address", "Where it is reached."),
    shown("Ports", "80, and 443 with TLS."),
    ageColumn,
  ],
  row: (ingress, now) => [
    name(ingress),
    textAt(ingress, "spec", "ingressClassName") ?? none,
    hostsOf(objectsAt(ingress, "spec", "rules")),
    balancerAddresses(ingress).join(","),
    objectsAt(ingress, "spec", "tls").length === 0 ? "80" : "80, 443",
    age(ingress, now),
  ],
};

/** The first three and the number of further rules, as in kubectl. */
function hostsOf(rules: readonly JsonObject[]): string {
  const named = rules
    .map((rule, index) => ({ host: textAt(rule, "host") ?? "", index }))
    .filter(({ host }) => host !== "");
  if (named.length === 0) return "*";
  const text = named
    .slice(0, 3)
    .map(({ host }) => host)
    .join(",");
  // Kubernetes counts rules here, not hosts.
  const [, , third] = named;
  return third !== undefined && third.index < rules.length - 1 ? `${text} + ${rules.length - 3} more...` : text;
}

export const networkPolicyTable: TableView = {
  columns: [nameColumn, shown("Pod-Selector", "Labels of the Pods it is about."), ageColumn],
  row: (policy, now) => [name(policy), formatSelector(objectAt(policy, "spec", "podSelector")), age(policy, now)],
};

/** Nothing is measured. */
export const horizontalPodAutoscalerTable: TableView = {
  columns: [
    nameColumn,
    shown("Reference", "What is scaled."),
    shown("Targets", "What is measured, and what it should be."),
    shown("MinPods", "The least number of Pods."),
    shown("MaxPods", "The largest number of Pods."),
    shown("Replicas", "How many there are."),
    ageColumn,
  ],
  row: (scaler, now) => {
    const target = objectAt(scaler, "spec", "scaleTargetRef") ?? {};
    return [
      name(scaler),
      `${scalarText(target["kind"])}/${scalarText(target["name"])}`,
      targetsOf(objectsAt(scaler, "spec", "metrics")),
      scalarText(valueAt(scaler, "spec", "minReplicas") ?? "<unset>"),
      numberAt(scaler, "spec", "maxReplicas") ?? 0,
      numberAt(scaler, "status", "currentReplicas") ?? 0,
      age(scaler, now),
    ];
  },
};

/** The first two, as in kubectl: `cpu: <unknown>/80%`. */
function targetsOf(metrics: readonly JsonObject[]): string {
  const texts = metrics.slice(0, 2).map((metric) => {
    const kind = textAt(metric, "type") ?? "";
    const source = objectAt(metric, `${kind.slice(0, 1).toLowerCase()}${kind.slice(1)}`) ?? {};
    const target = objectAt(source, "target") ?? {};
    const percent = numberAt(target, "averageUtilization");
    const isResource = kind.endsWith("Resource");
    const amount = target["averageValue"] ?? target["value"] ?? (isResource ? "<auto>" : undefined);
    const wanted = percent === undefined ? scalarText(amount) : `${percent}%`;
    const label = isResource ? `${scalarText(source["name"])}: ` : "";
    // Metrics of Pods are always averages.
    const isAverage = target["averageValue"] !== undefined && (kind === "Object" || kind === "External");
    return `${label}<unknown>/${wanted}${isAverage ? " (avg)" : ""}`;
  });
  if (texts.length === 0) return none;
  return texts.join(", ") + (metrics.length > 2 ? ` + ${metrics.length - 2} more...` : "");
}

export const podDisruptionBudgetTable: TableView = {
  columns: [
    nameColumn,
    shown("Min Available", "How many must stay."),
    shown("Max Unavailable", "How many may be away."),
    shown("Allowed Disruptions", "How many may be taken away now.", integer),
    ageColumn,
  ],
  row: (budget, now) => [
    name(budget),
    scalarText(valueAt(budget, "spec", "minAvailable") ?? "N/A"),
    scalarText(valueAt(budget, "spec", "maxUnavailable") ?? "N/A"),
    numberAt(budget, "status", "disruptionsAllowed") ?? 0,
    age(budget, now),
  ],
};

/** The time instead of an age, as in Kubernetes. */
export const limitRangeTable: TableView = {
  columns: [nameColumn, shown("Created At", "When it was created.", { type: "date" })],
  row: (range) => [name(range), textAt(range, "metadata", "creationTimestamp") ?? ""],
};
