import { aborted, formatInstant, type Instant, orAborted, recover } from "#lib/base/index.ts";
import type { ApiClient, Manager } from "#kernel/kit/index.ts";
import { isNotFound, Pod, type Stored } from "#kernel/model/index.ts";
import { Worker } from "../kinds.ts";
import { podState } from "../provisioner/kubernetes/observed-pod.ts";
import { formatPodAddress } from "../provisioner/pod-address.ts";
import { buildLabel, podSelector, workerUidLabel } from "../provisioner/worker-labels.ts";
import { instanceLabel, labelValue } from "../worker/step-labels.ts";
import { Duties } from "./duties.ts";
import type { AggregatorOptions, DutyParts } from "./settle-worker.ts";
import { wholeShard } from "./shard.ts";

/** Unreachable workers are retried at this interval. */
const resyncEvery = 600_000;

const podsResyncEvery = 60_000;

const podsOf = ({ namespace, instance }: NonNullable<AggregatorOptions["pods"]>) => ({
  namespace,
  labelSelector: `${podSelector},${instanceLabel}=${labelValue(instance)},!${workerUidLabel}`,
});

/** Adds an aggregator to a manager that has not started. It is stateless: the next one continues where the API is. */
export function addAggregator(
  manager: Manager,
  { services, shard = wholeShard, pods, ...options }: AggregatorOptions,
): void {
  const { client, clock, log, random } = manager;
  const workers = manager.mirror<Worker>(Worker);
  const workerPods = pods && manager.mirror(Pod, podsOf(pods));
  manager.add({
    name: "wharf-aggregator",
    async run({ stop }) {
      const lostLines: DutyParts["lostLines"] = async (worker, signal) => {
        const { lostPodLines } = await import("./lost-pod.ts");
        return await lostPodLines(client, worker, signal);
      };
      // Undefined if a port cannot be opened, which is logged.
      const found = await orAborted(services(), stop).catch(() => undefined);
      if (found === undefined) return;
      const duties = new Duties({ ...options, ...found, lostLines, shard, clock, random, log });
      const leave = workers.addHandler(
        {
          add: (worker) => duties.look(worker),
          update: (_old, worker) => duties.look(worker),
          delete: (worker) => duties.forget(worker),
        },
        { resyncEvery },
      );
      const look = (pod: Stored): void => {
        const worker = workerOfPod(pod, clock.now(), options.workerPort);
        if (worker !== undefined) duties.look(worker, { end: (signal) => endPod(client, worker, signal) });
      };
      // A stuck Pod no longer changes, so it is checked again periodically.
      const leavePods = workerPods?.addHandler(
        { add: look, update: (_old, pod) => look(pod), delete: (pod) => duties.forget(pod) },
        { resyncEvery: podsResyncEvery },
      );
      await aborted(stop);
      leave();
      leavePods?.();
      await duties.close();
    },
  });
}

const usualPort = 5010;

function workerOfPod(pod: Stored, now: Instant, port = usualPort): Stored<Worker> | undefined {
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

async function endPod(
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
  await client.delete(ref, { preconditions: { uid } }).catch(recover(isNotFound, undefined));
}
