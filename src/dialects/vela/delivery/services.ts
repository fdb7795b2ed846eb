import { defined, type JsonObject } from "#lib/base/index.ts";
import { componentHealth, type Observed } from "../render/health.ts";
import { identityOf, type TrackedObject } from "./tracker.ts";
import { groupTracked, trackedObject } from "./tracked-groups.ts";
import type { VelaDelivery } from "./vela-delivery.ts";

/** `status.services` and `status.appliedResources` of an Application. */
export interface Services {
  readonly services: readonly JsonObject[];
  readonly appliedResources: readonly JsonObject[];
  readonly isHealthy: boolean;
}

/** Observes all objects of the present revision, as tracked, each once. */
export async function evaluateServices(delivery: VelaDelivery): Promise<Services> {
  const { app, parts } = delivery;
  const trackers = await delivery.trackers.current();
  const tracked = trackers.flatMap(({ objects }) => objects);
  const observed = await observeTracked(delivery, tracked);
  const services: JsonObject[] = [];
  for (const { component, cluster, namespace, objects } of groupTracked(app, tracked)) {
    const { identity } = app;
    const { cue, definitions, signal } = parts;
    const own = objects.flatMap((one) => observed.get(identityOf(one)) ?? []);
    const health = await componentHealth({ identity, cue, definitions, signal }, component, own);
    const [workload] = objects;
    services.push({
      name: component.name,
      namespace,
      cluster,
      ...defined({ replicaKey: component.replicaKey }),
      workloadDefinition: { apiVersion: workload?.apiVersion ?? "", kind: workload?.kind ?? "" },
      healthy: health.isHealthy,
      workloadHealthy: health.isWorkloadHealthy,
      ...(health.message === "" ? {} : { message: health.message }),
      ...(Object.keys(health.details).length === 0 ? {} : { details: health.details }),
      traits: health.traits.map((trait): JsonObject => ({ ...trait })),
    });
  }
  return {
    services,
    appliedResources: tracked.map((one) => appliedResource(one, observed.get(identityOf(one)))),
    isHealthy: services.every((service) => service["healthy"] === true),
  };
}

function appliedResource(
  { cluster, creator, apiVersion, kind, namespace, name }: TrackedObject,
  observed: Observed | undefined,
): JsonObject {
  const uid = observed?.live?.metadata.uid;
  return {
    cluster,
    creator,
    apiVersion,
    kind,
    ...defined({ namespace }),
    name,
    ...defined({ uid }),
  };
}

async function observeTracked(
  delivery: VelaDelivery,
  tracked: readonly TrackedObject[],
): Promise<ReadonlyMap<string, Observed>> {
  const found = new Map<string, Observed>();
  for (const cluster of new Set(tracked.map((one) => one.cluster))) {
    const here = tracked.filter((one) => one.cluster === cluster);
    const wanted = here.map((one) => ({
      role: one.role ?? "WORKLOAD",
      ...defined({ trait: one.trait, resource: one.resource, stage: one.stage }),
      object: trackedObject(one),
    }));
    const observed = await delivery.observe(wanted, { cluster });
    for (const [index, one] of here.entries()) {
      const seen = observed[index];
      if (seen !== undefined) found.set(identityOf(one), seen);
    }
  }
  return found;
}
