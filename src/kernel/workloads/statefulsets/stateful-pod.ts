import { controllerReference, type Stored } from "#kernel/model/index.ts";
import type { ClaimObject } from "../claims/claim.ts";
import type { PodTemplate } from "../deployment-types.ts";
import type { PodObject } from "../pod-types.ts";
import { revisionLabel, type StatefulSetObject } from "../stateful-set-types.ts";

export const podName = ({ metadata }: StatefulSetObject, ordinal: number): string => `${metadata.name}-${ordinal}`;

export function ordinalOf({ metadata: { name: set = "" } }: StatefulSetObject, pod: PodObject): number | undefined {
  const { name = "" } = pod.metadata;
  if (!name.startsWith(`${set}-`)) return undefined;
  const text = name.slice(set.length + 1);
  return /^(?:0|[1-9]\d*)$/.test(text) ? Number(text) : undefined;
}

export function statefulPod(
  set: Stored<StatefulSetObject>,
  ordinal: number,
  revision: string,
  { metadata: template = {}, spec }: PodTemplate,
): PodObject {
  const name = podName(set, ordinal);
  const { namespace = "" } = set.metadata;
  const { serviceName = "" } = set.spec;
  const claims = claimsOf(set, ordinal).map((claim, at) => ({
    name: set.spec.volumeClaimTemplates?.[at]?.metadata.name ?? "",
    persistentVolumeClaim: { claimName: claim.metadata.name ?? "" },
  }));
  const others = (spec.volumes ?? []).filter((volume) => claims.every((claim) => claim.name !== volume.name));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: {
        ...template.labels,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": String(ordinal),
        [revisionLabel]: revision,
      },
      ...(template.annotations === undefined ? {} : { annotations: template.annotations }),
      ...(template.finalizers === undefined ? {} : { finalizers: template.finalizers }),
      ownerReferences: [controllerReference(set)],
    },
    spec: {
      ...spec,
      hostname: name,
      ...(serviceName === "" ? {} : { subdomain: serviceName }),
      ...(claims.length + others.length === 0 ? {} : { volumes: [...claims, ...others] }),
    },
  };
}

export function claimsOf(set: Stored<StatefulSetObject>, ordinal: number): readonly ClaimObject[] {
  const { volumeClaimTemplates = [], persistentVolumeClaimRetentionPolicy: kept, selector } = set.spec;
  const { uid, namespace = "", name } = set.metadata;
  const owner = { apiVersion: set.apiVersion, kind: set.kind, name, uid };
  return volumeClaimTemplates.map(({ metadata, spec }) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: `${metadata.name}-${podName(set, ordinal)}`,
      namespace,
      labels: { ...metadata.labels, ...selector.matchLabels },
      ...(metadata.annotations === undefined ? {} : { annotations: metadata.annotations }),
      ...(kept?.whenDeleted === "Delete" ? { ownerReferences: [owner] } : {}),
    },
    spec,
  }));
}
