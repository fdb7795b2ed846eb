import { type JsonObject, isTrueAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, none, shown, wide } from "./columns.ts";

const rolePrefix = "node-role.kubernetes.io/";
const roleLabel = "kubernetes.io/role";
const unknown = "<unknown>";

export const nodeTable: TableView = {
  columns: [
    nameColumn,
    shown("Status", "Whether it takes Pods."),
    shown("Roles", "What it is for."),
    ageColumn,
    shown("Version", "What runs its Pods."),
    wide("Internal-IP", "Its address inside."),
    wide("External-IP", "Its address outside."),
    wide("OS-Image", "Its operating system."),
    wide("Kernel-Version", "Its kernel."),
    wide("Container-Runtime", "What runs its containers."),
  ],
  row: (node, now) => {
    const info = objectAt(node, "status", "nodeInfo") ?? {};
    return [
      textAt(node, "metadata", "name") ?? "",
      status(node),
      roles(node),
      ageOf(valueAt(node, "metadata", "creationTimestamp"), now),
      textAt(info, "kubeletVersion") ?? "",
      address(node, "InternalIP"),
      address(node, "ExternalIP"),
      textAt(info, "osImage") ?? unknown,
      textAt(info, "kernelVersion") ?? unknown,
      textAt(info, "containerRuntimeVersion") ?? unknown,
    ];
  },
};

function status(node: JsonObject): string {
  const ready = objectsAt(node, "status", "conditions").find((condition) => condition["type"] === "Ready");
  const word = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return isTrueAt(node, "spec", "unschedulable") ? `${word},SchedulingDisabled` : word;
}

/** From `node-role.kubernetes.io/worker` or `kubernetes.io/role: worker`. */
function roles(node: JsonObject): string {
  const labels = Object.entries(objectAt(node, "metadata", "labels") ?? {});
  const found = labels.map(([label, value]) =>
    label.startsWith(rolePrefix) ? label.slice(rolePrefix.length) : label === roleLabel ? scalarText(value) : "",
  );
  const named = new Set(found.filter((role) => role !== ""));
  return named.size === 0 ? none : [...named].sort().join(",");
}

const address = (node: JsonObject, type: string): string =>
  textAt(
    objectsAt(node, "status", "addresses").find((one) => one["type"] === type),
    "address",
  ) ?? none;
