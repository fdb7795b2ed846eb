import { listAt, objectAt, scalarText, textAt, valueAt } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, shown, wide } from "./columns.ts";

/** Short forms of access modes, in the order in which Kubernetes prints them. */
const shortModes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const;

/** PersistentVolumeClaims. Capacity and modes are those of what it is bound to: empty while it waits. */
export const claimTable: TableView = {
  columns: [
    nameColumn,
    shown("Status", "Pending, Bound or Terminating."),
    shown("Volume", "What it is bound to."),
    shown("Capacity", "How much it was promised."),
    shown("Access Modes", "How it may be used."),
    shown("StorageClass", "The class it asks for."),
    shown("VolumeAttributesClass", "Not used."),
    ageColumn,
    wide("VolumeMode", "Filesystem."),
  ],
  row: (claim, now) => {
    const modes = listAt(claim, "status", "accessModes");
    const isLeaving = textAt(claim, "metadata", "deletionTimestamp") !== undefined;
    return [
      textAt(claim, "metadata", "name") ?? "",
      isLeaving ? "Terminating" : (textAt(claim, "status", "phase") ?? ""),
      textAt(claim, "spec", "volumeName") ?? "",
      scalarText(objectAt(claim, "status", "capacity")?.["storage"]),
      shortModes.flatMap(([mode, short]) => (modes.includes(mode) ? [short] : [])).join(","),
      textAt(claim, "spec", "storageClassName") ?? "",
      textAt(claim, "spec", "volumeAttributesClassName") ?? "<unset>",
      ageOf(valueAt(claim, "metadata", "creationTimestamp"), now),
      textAt(claim, "spec", "volumeMode") ?? "",
    ];
  },
};
