import { aborted, parseInstant, recover } from "#lib/base/index.ts";
import { controllerFor, type Manager, refTo, requestChannel } from "#kernel/kit/index.ts";
import { isNotFound, Secret } from "#kernel/model/index.ts";
import { Worker } from "../kinds.ts";
import type { WorkerBackend, WorkerIdentity } from "./backend.ts";
import { waitingIn, workerReconciler } from "./reconcile-worker.ts";
import type { ProvisionerParts } from "./rest.ts";
import type { ProvisionerSettings } from "./settings.ts";
import { Slots } from "./slots.ts";
import { workerLabel } from "./store-worker.ts";
import { identityOf } from "./worker-status.ts";

export interface ProvisionerOptions {
  readonly settings: ProvisionerSettings;
  /** Closed with the manager. `changed` requeues a worker. */
  readonly backend: (changed: (worker: WorkerIdentity) => void) => WorkerBackend;
}

/** Adds the controller of workers to a manager that has not started. Workers survive the manager, and the next one
 * adopts them. */
export function addProvisioner(manager: Manager, { settings, backend: make }: ProvisionerOptions): ProvisionerParts {
  const { client, random, log } = manager;
  const { namespace, maxWorkers } = settings;
  const scope = { namespace };
  const workers = manager.mirror<Worker>(Worker, scope);
  const channel = requestChannel();
  const backend = make(({ namespace: where, name }) => channel.send({ namespace: where, name }));
  const parts = { client, workers, backend, settings, slots: new Slots(maxWorkers), cleared: new Set<string>() };
  const builder = controllerFor(manager, "wharf-worker")
    .for<Worker>(Worker, { scope, resyncEvery: 600_000 })
    .watchesChannel(channel);
  const limited =
    maxWorkers === 0 ? builder : builder.watches<Worker>(Worker, () => waitingIn(workers, namespace), { scope });
  limited.with({ maxConcurrent: 8 }).complete(workerReconciler(parts));
  manager.add({
    name: "wharf-worker-sweeper",
    async run({ stop }) {
      await backend
        .sweep(() => workers.list().map(identityOf))
        .catch((thrown: unknown) => log.warn("removing leftovers of workers failed", { error: thrown }));
      await sweepSecrets(manager, namespace, (name) => workers.get(`${namespace}/${name}`) !== undefined);
      await aborted(stop);
      await backend.close();
    },
  });
  return { client, workers, settings, random, log };
}

/** Secrets younger than this may belong to a request that is still running. */
const orphanAgeMs = 600_000;

/** Removes Secrets whose worker was never stored. */
async function sweepSecrets(
  { client, clock, log }: Pick<Manager, "client" | "clock" | "log">,
  namespace: string,
  isWorker: (name: string) => boolean,
) {
  try {
    const { items } = await client.list(Secret, { namespace, labelSelector: workerLabel });
    for (const secret of items) {
      const { labels = {}, creationTimestamp } = secret.metadata;
      const age = clock.now() - (parseInstant(creationTimestamp) ?? 0);
      if (age < orphanAgeMs || isWorker(labels[workerLabel] ?? "")) continue;
      await client.delete(refTo(Secret, secret)).catch(recover(isNotFound, undefined));
    }
  } catch (thrown) {
    // Retried at the next start.
    log.warn("removing leftover secrets of workers failed", { error: thrown });
  }
}
