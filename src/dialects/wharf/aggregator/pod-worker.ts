import { formatInstant, type Instant } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isNotFound, Pod, type Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { podState } from "../provisioner/kubernetes/observed-pod.ts";
import { formatPodAddress } from "../provisioner/pod-address.ts";
import { buildLabel, workerUidLabel } from "../provisioner/worker-labels.ts";

const usualPort = 5010;

/** A Pod of a released provisioner as a Worker; undefined for Pods with a resource. */
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

/** Missing Pods are no error. */
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
