import { type JsonObject, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, shown, wide } from "./columns.ts";
import { formatSelector } from "./job.ts";

/** Kubernetes omits zeros. */
const count = (object: JsonObject, ...path: readonly string[]): number => numberAt(object, ...path) ?? 0;

const podColumns = [
  wide("Containers", "Names of the containers."),
  wide("Images", "Images of the containers."),
  wide("Selector", "Labels of the Pods."),
];

function podCells(object: JsonObject): readonly string[] {
  const containers = objectsAt(object, "spec", "template", "spec", "containers");
  const join = (member: string) => containers.map((container) => textAt(container, member) ?? "").join(",");
  return [join("name"), join("image"), formatSelector(objectAt(object, "spec", "selector"))];
}

export const deploymentTable: TableView = {
  columns: [
    nameColumn,
    shown("Ready", "Pods that are ready, of those wanted."),
    shown("Up-to-date", "Pods of the present template."),
    shown("Available", "Pods that have been ready for minReadySeconds."),
    ageColumn,
    ...podColumns,
  ],
  row: (deployment, now) => [
    textAt(deployment, "metadata", "name") ?? "",
    `${count(deployment, "status", "readyReplicas")}/${count(deployment, "spec", "replicas")}`,
    count(deployment, "status", "updatedReplicas"),
    count(deployment, "status", "availableReplicas"),
    ageOf(valueAt(deployment, "metadata", "creationTimestamp"), now),
    ...podCells(deployment),
  ],
};

export const replicaSetTable: TableView = {
  columns: [
    nameColumn,
    shown("Desired", "Pods that are wanted.", { type: "integer" }),
    shown("Current", "Pods there are.", { type: "integer" }),
    shown("Ready", "Pods that are ready.", { type: "integer" }),
    ageColumn,
    ...podColumns,
  ],
  row: (set, now) => [
    textAt(set, "metadata", "name") ?? "",
    count(set, "spec", "replicas"),
    count(set, "status", "replicas"),
    count(set, "status", "readyReplicas"),
    ageOf(valueAt(set, "metadata", "creationTimestamp"), now),
    ...podCells(set),
  ],
};

/** Without updated Pods, as in Kubernetes. */
export const statefulSetTable: TableView = {
  columns: [nameColumn, shown("Ready", "Pods that are ready, of those wanted."), ageColumn, ...podColumns.slice(0, 2)],
  row: (set, now) => [
    textAt(set, "metadata", "name") ?? "",
    `${count(set, "status", "readyReplicas")}/${count(set, "spec", "replicas")}`,
    ageOf(valueAt(set, "metadata", "creationTimestamp"), now),
    ...podCells(set).slice(0, 2),
  ],
};
