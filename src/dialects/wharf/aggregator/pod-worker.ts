import { formatInstant, type Instant } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isNotFound, Pod, type Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { podState } from "../provisioner/kubernetes/observed-pod.ts";
import { formatPodAddress } from "../provisioner/pod-address.ts";
import { buildLabel, workerUidLabel } from "../provisioner/worker-labels.ts";

// A released provisioner stores nothing of its workers: their Pods are all there is.

/** Where workers of the original serve. */
const usualPort = 5010;

/**
 * A Pod that a released provisioner has made, as the worker it is; undefined for those of ours, which have resources of their own. Where it
 * answers is known while it runs, and that it has ended when it has.
 */
export function workerOfPod(pod: Stored, now: Instant, port = usualPort): Stored<Worker> | undefined {
  const { labels = {}, name, namespace = "" } = pod.metadata;
  if (labels[workerUidLabel] !== undefined) return undefined;
  const { phase, status, message, finishedAt } = podState(pod, now);
  const isOver = phase === "ended" || phase === "stuck";
  const buildRef = Number(labels[buildLabel] ?? 0);
  return {
    ...pod,
    apiVersion: "wharf.slipway.dev/v1alpha1",
    kind: "Worker",
    spec: { buildRef: Number.isSafeInteger(buildRef) && buildRef > 0 ? buildRef : 0 },
    status: {
      status,
      runtime: "kubernetes",
      runtimeId: pod.metadata.uid,
      ...(phase === "running" ? { address: formatPodAddress({ namespace, name, port }) } : {}),
      ...(isOver ? { finishedAt: formatInstant(finishedAt ?? now) } : {}),
      ...(message === undefined ? {} : { message }),
    },
  };
}

/** Ends a worker that is its Pod and nothing else. One that has gone is no failure. */
export async function endPod(
  client: Pick<ApiClient, "delete">,
  { metadata }: Stored<Worker>,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = metadata;
  signal.throwIfAborted();
  const ref = {
    type: Pod,
    name: metadata.name,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
  };
  await client.delete(ref, { preconditions: { uid } }).catch((thrown: unknown) => {
    if (!isNotFound(thrown)) throw thrown;
  });
}
