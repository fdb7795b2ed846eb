import { type JsonObject, objectAt } from "#lib/base/index.ts";
import { formatLabelSelector, readLabelSelector } from "#kernel/kit/index.ts";
import { Endpoints, PersistentVolume, ReplicationController } from "#kernel/model/index.ts";
import { definitionNames, mapMember, mapItems, withAbsent } from "#kernel/specs/index.ts";
import { endpointsTable, replicationControllerTable, volumeTable } from "../tables/stored-core.ts";
import type { BuiltIn } from "./built-in.ts";
import { notActedUpon, withTemplate } from "./stored-only.ts";

// Further stored kinds (stored-only.ts). `kubectl apply --prune` needs all of these to exist.

export const endpointsKind: BuiltIn = {
  type: Endpoints,
  definition: definitionNames.endpoints,
  table: endpointsTable,
  defaults: (endpoints) =>
    mapItems(endpoints, "subsets", (subset) =>
      mapItems(subset, "ports", (port) => withAbsent(port, { protocol: "TCP" })),
    ),
  rules: [notActedUpon(Endpoints)],
};

export const volumeKind: BuiltIn = {
  type: PersistentVolume,
  definition: definitionNames.persistentVolume,
  table: volumeTable,
  subresources: ["status"],
  defaults: (volume) =>
    mapMember(volume, "spec", (spec) =>
      withAbsent(spec, { persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" }),
    ),
  prepareForCreate: (volume) => ({ ...volume, status: { phase: "Pending" } }),
  rules: [notActedUpon(PersistentVolume)],
};

export const replicationControllerKind: BuiltIn = {
  type: ReplicationController,
  definition: definitionNames.replicationController,
  table: replicationControllerTable,
  subresources: ["status", "scale"],
  hasGeneration: true,
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    selector(object) {
      const selector = readLabelSelector({ matchLabels: selected(object) });
      return selector.ok ? formatLabelSelector(selector.value) : "";
    },
  },
  defaults: (controller) => withTemplateLabels(withTemplate(controller, { replicas: 1 })),
  // Required by the schema.
  prepareForCreate: (controller) => ({ ...controller, status: { replicas: 0 } }),
  rules: [notActedUpon(ReplicationController)],
};

const selected = (controller: JsonObject): JsonObject => objectAt(controller, "spec", "selector") ?? {};

/** Kubernetes' defaults: labels and selector of its Pods. */
function withTemplateLabels(controller: JsonObject): JsonObject {
  const labels = objectAt(controller, "spec", "template", "metadata", "labels") ?? {};
  if (Object.keys(labels).length === 0) return controller;
  const isLabeled = Object.keys(objectAt(controller, "metadata", "labels") ?? {}).length > 0;
  const selects = Object.keys(selected(controller)).length > 0;
  const labeled = isLabeled ? controller : mapMember(controller, "metadata", (metadata) => ({ ...metadata, labels }));
  return selects ? labeled : mapMember(labeled, "spec", (spec) => ({ ...spec, selector: labels }));
}
