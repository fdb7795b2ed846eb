import { type JsonObject, listAt, numberAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { shortAccessModes } from "./claim.ts";
import { ageColumn, nameColumn, none, shown, wide } from "./columns.ts";
import { formatSelector } from "./job.ts";
import { age, containers, count, integer, name } from "./stored-only.ts";

/** The first three addresses, as in kubectl. */
export const endpointsTable: TableView = {
  columns: [nameColumn, shown("Endpoints", "Addresses that are ready."), ageColumn],
  row: (endpoints, now) => [name(endpoints), addressesOf(objectsAt(endpoints, "subsets")), age(endpoints, now)],
};

const mostAddresses = 3;

function addressesOf(subsets: readonly JsonObject[]): string {
  if (subsets.length === 0) return none;
  const all = subsets.flatMap(hostPorts);
  const text = all.slice(0, mostAddresses).join(",");
  return all.length > mostAddresses ? `${text} + ${all.length - mostAddresses} more...` : text;
}

function hostPorts(subset: JsonObject): readonly string[] {
  const hosts = objectsAt(subset, "addresses").map((address) => textAt(address, "ip") ?? "");
  const ports = objectsAt(subset, "ports");
  if (ports.length === 0) return hosts;
  return ports.flatMap((port) =>
    hosts.map((host) => `${host.includes(":") ? `[${host}]` : host}:${numberAt(port, "port") ?? 0}`),
  );
}

export const volumeTable: TableView = {
  columns: [
    nameColumn,
    shown("Capacity", "How much it holds."),
    shown("Access Modes", "How it may be used."),
    shown("Reclaim Policy", "What becomes of it without its claim."),
    shown("Status", "Pending, or Terminating."),
    shown("Claim", "The claim that uses it."),
    shown("StorageClass", "The class it is of."),
    shown("VolumeAttributesClass", "Not used."),
    shown("Reason", "Why it is not well."),
    ageColumn,
    wide("VolumeMode", "Filesystem or Block."),
  ],
  row: (volume, now) => {
    const claim = objectAt(volume, "spec", "claimRef");
    const isLeaving = textAt(volume, "metadata", "deletionTimestamp") !== undefined;
    return [
      name(volume),
      scalarText(objectAt(volume, "spec", "capacity")?.["storage"] ?? "0"),
      shortAccessModes(listAt(volume, "spec", "accessModes")),
      textAt(volume, "spec", "persistentVolumeReclaimPolicy") ?? "",
      isLeaving ? "Terminating" : (textAt(volume, "status", "phase") ?? ""),
      claim === undefined ? "" : `${textAt(claim, "namespace") ?? ""}/${textAt(claim, "name") ?? ""}`,
      textAt(volume, "spec", "storageClassName") ?? "",
      textAt(volume, "spec", "volumeAttributesClassName") ?? "<unset>",
      textAt(volume, "status", "reason") ?? "",
      age(volume, now),
      textAt(volume, "spec", "volumeMode") ?? "<unset>",
    ];
  },
};

export const replicationControllerTable: TableView = {
  columns: [
    nameColumn,
    shown("Desired", "Pods that are wanted.", integer),
    shown("Current", "Pods there are.", integer),
    shown("Ready", "Pods that are ready.", integer),
    ageColumn,
    wide("Containers", "Names of the containers."),
    wide("Images", "Images of the containers."),
    wide("Selector", "Labels of the Pods."),
  ],
  row: (controller, now) => [
    name(controller),
    count(controller, "spec", "replicas"),
    count(controller, "status", "replicas"),
    count(controller, "status", "readyReplicas"),
    age(controller, now),
    containers(controller, "name"),
    containers(controller, "image"),
    formatSelector({ matchLabels: objectAt(controller, "spec", "selector") ?? {} }),
  ],
};
