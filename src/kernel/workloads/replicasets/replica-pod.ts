import { type Instant, parseInstant } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import { controllerReference, type Stored } from "#kernel/model/index.ts";
import { deletionCostAnnotation, type ReplicaSetObject } from "../deployment-types.ts";
import { type PodObject, isReady } from "../pod-types.ts";

export type ReplicaPod = Stored<PodObject>;

export const readySince = (pod: ReplicaPod): Instant | undefined =>
  isReady(pod)
    ? (parseInstant(conditionOf(pod.status?.conditions, "Ready")?.lastTransitionTime ?? "") ?? 0)
    : undefined;

export function replicaPod(set: Stored<ReplicaSetObject>): PodObject {
  const { metadata: template, spec } = set.spec.template;
  const { name, namespace = "" } = set.metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: `${name}-`,
      namespace,
      ...(template?.labels === undefined ? {} : { labels: template.labels }),
      ...(template?.annotations === undefined ? {} : { annotations: template.annotations }),
      ...(template?.finalizers === undefined ? {} : { finalizers: template.finalizers }),
      ownerReferences: [controllerReference(set)],
    },
    spec,
  };
}

/** Kubernetes' order of removal: unbound, pending, unready, cheaper, ready for less long, more restarts, younger. */
export function byWorth(a: ReplicaPod, b: ReplicaPod): number {
  const keysA = worth(a);
  const keysB = worth(b);
  for (const [index, key] of keysA.entries()) {
    const difference = key - (keysB[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

function worth(pod: ReplicaPod): readonly number[] {
  const { metadata, spec, status } = pod;
  const restarts = (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
  return [
    spec.nodeName === undefined ? 0 : 1,
    phaseRank[status?.phase ?? "Pending"] ?? 0,
    isReady(pod) ? 1 : 0,
    deletionCost(metadata.annotations?.[deletionCostAnnotation]),
    -(readySince(pod) ?? 0),
    -restarts,
    -(parseInstant(metadata.creationTimestamp) ?? 0),
  ];
}

function deletionCost(text = "0"): number {
  const cost = /^(?:0|-?[1-9]\d*)$/.test(text) ? Number(text) : 0;
  return Math.abs(cost) < 2 ** 31 ? cost : 0;
}
