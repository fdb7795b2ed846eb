import { type JsonValue, listAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, ageOf, nameColumn, shown, wide } from "./columns.ts";

/** In Kubernetes' order. */
const shortModes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const;

export const shortAccessModes = (modes: readonly JsonValue[]): string =>
  shortModes.flatMap(([mode, short]) => (modes.includes(mode) ? [short] : [])).join(",");

/** Capacity and modes are empty until bound. */
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
    const volume = textAt(claim, "spec", "volumeName");
    const modes = volume === undefined ? [] : listAt(claim, "status", "accessModes");
    const capacity = scalarText(objectAt(claim, "status", "capacity")?.["storage"] ?? 0);
    const isLeaving = textAt(claim, "metadata", "deletionTimestamp") !== undefined;
    return [
      textAt(claim, "metadata", "name") ?? "",
      isLeaving ? "Terminating" : (textAt(claim, "status", "phase") ?? ""),
      volume ?? "",
      volume === undefined ? "" : capacity,
      shortAccessModes(modes),
      textAt(claim, "spec", "storageClassName") ?? "",
      textAt(claim, "spec", "volumeAttributesClassName") ?? "<unset>",
      ageOf(valueAt(claim, "metadata", "creationTimestamp"), now),
      textAt(claim, "spec", "volumeMode") ?? "<unset>",
    ];
  },
};
