import { silentLog, systemClock } from "#lib/base/index.ts";
import {
  controllerFor,
  createHttpClient,
  loadKubeconfig,
  Manager,
  patchStatus,
  requestKey,
} from "#kernel/kit/index.ts";
import { Pod } from "#kernel/model/index.ts";
import { addDeploymentController, addReplicaSetController } from "#kernel/workloads/index.ts";

// A cluster of tests has no kubelet, and a server of our own that is bare has no controllers of workloads either.

/** The cluster's part in Deployments: their Pods are ready, though nothing runs. `hasControllers` of its own, or gets ours. Ends it. */
export async function keepWorkloads(kubeconfig: string, hasControllers = false): Promise<() => Promise<void>> {
  const parts = { clock: systemClock, log: silentLog, random: Math.random };
  const connection = await loadKubeconfig({ ...parts, files: [kubeconfig], environment: {} });
  const client = createHttpClient({ ...parts, connection });
  const manager = new Manager({ ...parts, client });
  if (!hasControllers) {
    addReplicaSetController(manager, { instance: "tests" });
    addDeploymentController(manager, { instance: "tests" });
  }
  const pods = manager.mirror(Pod);
  controllerFor(manager, "pods-are-ready")
    .for(Pod)
    .complete({
      async reconcile(request) {
        const pod = pods.get(requestKey(request));
        if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
        const condition = { type: "Ready", status: "True", lastTransitionTime: pod.metadata.creationTimestamp ?? null };
        await patchStatus(client, Pod, pod, { phase: "Running", podIP: "10.0.0.1", conditions: [condition] });
      },
    });
  const ending = new AbortController();
  const running = manager.run(ending.signal);
  return async () => {
    ending.abort();
    await running;
    await client.close();
  };
}
