import { type Instant, type JsonObject, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, none, shown, wide } from "./columns.ts";
import { type PodSummary, summarizePod } from "./pod-summary.ts";

export const podTable: TableView = {
  columns: [
    nameColumn,
    shown("Ready", "Containers that are ready, of all."),
    shown("Status", "Where the pod stands, or why it does not go on."),
    shown("Restarts", "How often containers were restarted, and when last."),
    ageColumn,
    wide("IP", "Address of the pod."),
    wide("Node", "Machine the pod runs on."),
    wide("Nominated Node", "Machine on which room is being made for the pod."),
    wide("Readiness Gates", "Conditions that must hold besides ready containers."),
  ],
  row(pod, now) {
    const summary = summarizePod(pod);
    return [
      textAt(pod, "metadata", "name") ?? "",
      `${summary.readyContainers}/${summary.totalContainers}`,
      summary.status,
      restartsText(summary, now),
      ageOf(valueAt(pod, "metadata", "creationTimestamp"), now),
      textAt(pod, "status", "podIP") ?? textAt(objectsAt(pod, "status", "podIPs")[0], "ip") ?? none,
      textAt(pod, "spec", "nodeName") ?? none,
      textAt(pod, "status", "nominatedNodeName") ?? none,
      gatesText(pod),
    ];
  },
};

const restartsText = ({ restarts, lastRestart }: PodSummary, now: Instant): string =>
  restarts === 0 || lastRestart === undefined ? `${restarts}` : `${restarts} (${ageOf(lastRestart, now)} ago)`;

function gatesText(pod: JsonObject): string {
  const gates = objectsAt(pod, "spec", "readinessGates").map((gate) => gate["conditionType"]);
  if (gates.length === 0) return none;
  const conditions = objectsAt(pod, "status", "conditions");
  const holding = gates.filter((gate) => conditions.some((one) => one["type"] === gate && one["status"] === "True"));
  return `${holding.length}/${gates.length}`;
}
