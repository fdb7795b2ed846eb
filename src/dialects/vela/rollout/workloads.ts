import { isJsonObject, type JsonObject, numberAt, objectAt, textAt } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";

// A rollout keeps two workloads of a component, told apart by a label of their Pods.

export const revisionLabel = "app.oam.dev/revision";
/** Hash of the rendered specification, to find components that did not change. */
const hashAnnotation = "slipway.dev/rollout-hash";

export const replicasOf = (object: KubeObject): number => numberAt(asJson(object), "spec", "replicas") ?? 1;

/** Whether two of it can share the replicas: it selects Pods by labels, and not one for each node. */
export const canRoll = (object: KubeObject): boolean =>
  objectAt(asJson(object), "spec", "template") !== undefined &&
  objectAt(asJson(object), "spec", "selector") !== undefined &&
  object.kind !== "DaemonSet" &&
  object.kind !== "Job";

export const specHash = (object: KubeObject): string => {
  const { replicas: _replicas, ...spec } = objectAt(asJson(object), "spec") ?? {};
  return hashName([canonicalJson(spec)], 16);
};

export const hashOf = (object: KubeObject): string | undefined => object.metadata.annotations?.[hashAnnotation];

/** The rendered workload under the name of its revision, which its Pods carry too. */
export function revisedWorkload(rendered: KubeObject, name: string, replicas: number): KubeObject {
  const spec = objectAt(asJson(rendered), "spec") ?? {};
  const selector = objectAt(spec, "selector") ?? {};
  const template = objectAt(spec, "template") ?? {};
  const metadata = objectAt(template, "metadata") ?? {};
  const own: JsonObject = { [revisionLabel]: name };
  return {
    ...rendered,
    metadata: {
      ...rendered.metadata,
      name,
      labels: { ...rendered.metadata.labels, [revisionLabel]: name },
      annotations: { ...rendered.metadata.annotations, [hashAnnotation]: specHash(rendered) },
    },
    spec: {
      ...spec,
      replicas,
      selector: { ...selector, matchLabels: { ...objectAt(selector, "matchLabels"), ...own } },
      template: { ...template, metadata: { ...metadata, labels: { ...objectAt(metadata, "labels"), ...own } } },
    },
  };
}

/** The revision label of the workload's Pods, if it tells them from others. */
export const podRevision = (workload: KubeObject): string | undefined =>
  textAt(asJson(workload), "spec", "selector", "matchLabels", revisionLabel);

export interface Readiness {
  readonly wanted: number;
  readonly ready: number;
  readonly isSettled: boolean;
}

/** Settled: as many replicas as wanted are ready, of this generation and no other. */
export function readinessOf(live: KubeObject | undefined): Readiness {
  if (live === undefined) return { wanted: 0, ready: 0, isSettled: true };
  const status = isJsonObject(live.status) ? live.status : {};
  const wanted = replicasOf(live);
  const ready = numberAt(status, "readyReplicas") ?? 0;
  const isCurrent = (numberAt(status, "observedGeneration") ?? 0) >= (live.metadata.generation ?? 0);
  const total = numberAt(status, "replicas") ?? 0;
  const updated = numberAt(status, "updatedReplicas") ?? total;
  return { wanted, ready, isSettled: isCurrent && ready >= wanted && total === wanted && updated >= wanted };
}

/** Replicas of both revisions. The old one keeps a Pod until a new one is ready: requests are always answered. */
export function targets(total: number, fresh: number, surge: number, freshReady: number) {
  const old = Math.min(total, Math.max(0, total - fresh + surge));
  return { fresh, old: old === 0 && freshReady === 0 ? Math.min(1, total) : old };
}

/** The workload that serves requests now: that of the last rollout that ended, else the newest one. */
export function stableWorkload<T extends Stored>(
  live: readonly T[],
  known: string | undefined,
  newName: string,
): T | undefined {
  const found = live.find(({ metadata }) => metadata.name === known);
  if (found !== undefined) return found;
  const time = (object: T) => object.metadata.creationTimestamp;
  return live.filter(({ metadata }) => metadata.name !== newName).toSorted((a, b) => (time(a) < time(b) ? 1 : -1))[0];
}
