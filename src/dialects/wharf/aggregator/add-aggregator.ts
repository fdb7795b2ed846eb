import { aborted, orAborted } from "#lib/base/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import { Worker } from "../kinds.ts";
import { podSelector, workerUidLabel } from "../provisioner/worker-labels.ts";
import { instanceLabel, labelValue } from "../worker/step-labels.ts";
import type { ForwardPort } from "../provisioner/pod-address.ts";
import type { ClientServices } from "../services.ts";
import { Duties, type DutyParts } from "./duties.ts";
import { endPod, workerOfPod } from "./pod-worker.ts";
import { type Shard, wholeShard } from "./shard.ts";

/** What an aggregator is told by who starts it. */
export interface AggregatorOptions {
  /** Resolves with wharf-api, which takes results, and with the provisioner, which ends workers, when their ports are open. */
  readonly services: () => Promise<ClientServices>;
  /** Which of the workers are this one's; all unless told. */
  readonly shard?: Shard;
  /** Whose results are carried at once; further ones wait, the oldest first. 1,000 unless told. */
  readonly maxWorkers?: number;
  /** The way to ports of Pods; workers in Pods are not reached without. */
  readonly forward?: ForwardPort | undefined;
  /** Whose Pods are workers, too, without a resource of their own: those of released provisioners. Nobody's unless told. */
  readonly pods?: { readonly namespace: string; readonly instance: string } | undefined;
  /** Where workers serve their results whose address has no port. */
  readonly workerPort?: number;
}

/** Workers that nobody could be reached for are looked at again, in case what stood against it has passed. */
const resyncEvery = 600_000;

const podsResyncEvery = 60_000;

const podsOf = ({ namespace, instance }: NonNullable<AggregatorOptions["pods"]>) => ({
  namespace,
  labelSelector: `${podSelector},${instanceLabel}=${labelValue(instance)},!${workerUidLabel}`,
});

/**
 * Adds an aggregator to a manager that has not started: what carries results of workers to wharf-api and has them ended then. It keeps nothing of
 * its own: whatever ends it, the next one goes on where the API is.
 */
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
      // None where a port cannot be opened, which the log says.
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
      // A Pod that is stuck changes no more: that is seen when it is looked at again.
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
