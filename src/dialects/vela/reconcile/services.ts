import type { KubeObject } from "#kernel/model/index.ts";
import type { Component } from "../app.ts";
import type { TrackedObject } from "../delivery/tracker.ts";
import type { VelaDelivery } from "../delivery/vela-delivery.ts";
import type { AppliedResource, ServiceStatus } from "../kinds.ts";
import { componentHealth, type Observed } from "../render/health.ts";

/** The objects of an application as they are now. */
export interface Observation {
  readonly services: readonly ServiceStatus[];
  readonly applied: readonly AppliedResource[];
  readonly isHealthy: boolean;
}

interface Seen {
  readonly entry: TrackedObject;
  readonly observed: Observed;
}

/** Reads every object that the present revision applied. A service is a workload in one place. */
export async function observeServices(delivery: VelaDelivery): Promise<Observation> {
  const trackers = await delivery.trackers.current();
  const seen = await observe(
    delivery,
    trackers.flatMap(({ objects }) => objects),
  );
  const services: ServiceStatus[] = [];
  for (const workload of seen.filter(({ entry }) => entry.role === "WORKLOAD" && entry.component !== undefined))
    services.push(await serviceOf(delivery, workload, seen));
  return {
    services,
    applied: seen.map(appliedOf),
    isHealthy: services.every(({ healthy }) => healthy === true),
  };
}

async function observe(delivery: VelaDelivery, entries: readonly TrackedObject[]): Promise<readonly Seen[]> {
  const clusters = [...new Set(entries.map(({ cluster }) => cluster))];
  const lists = await Promise.all(
    clusters.map(async (cluster) => {
      const here = entries.filter((entry) => entry.cluster === cluster);
      const found = await delivery.observe(here.map(wantedOf), { cluster });
      return here.flatMap((entry, at): readonly Seen[] => {
        const observed = found[at];
        return observed === undefined ? [] : [{ entry, observed }];
      });
    }),
  );
  return lists.flat();
}

const wantedOf = (entry: TrackedObject): Observed["wanted"] => ({
  role: entry.role ?? "WORKLOAD",
  ...(entry.trait === undefined ? {} : { trait: entry.trait }),
  ...(entry.resource === undefined ? {} : { resource: entry.resource }),
  ...(entry.stage === "PreDispatch" || entry.stage === "PostDispatch" ? { stage: entry.stage } : {}),
  object: referenceOf(entry),
});

const referenceOf = ({ apiVersion, kind, name, namespace }: TrackedObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});

async function serviceOf(delivery: VelaDelivery, workload: Seen, all: readonly Seen[]): Promise<ServiceStatus> {
  const { entry } = workload;
  const { component = "", cluster, namespace } = entry;
  const own = all.filter(
    (other) =>
      other === workload ||
      (other.entry.component === component &&
        other.entry.cluster === cluster &&
        other.entry.role !== "WORKLOAD" &&
        (other.entry.namespace === undefined || other.entry.namespace === namespace)),
  );
  const { cue, definitions, signal } = delivery.parts;
  const { identity, components } = delivery.app;
  const health = await componentHealth(
    { identity, cue, definitions, signal },
    components.find(({ name }) => name === component) ?? unknownComponent(component),
    own.map(({ observed }) => observed),
  );
  return {
    name: component,
    ...(namespace === undefined ? {} : { namespace }),
    cluster,
    workloadDefinition: { apiVersion: entry.apiVersion, kind: entry.kind },
    healthy: health.isHealthy,
    workloadHealthy: health.isWorkloadHealthy,
    ...(health.message === "" ? {} : { message: health.message }),
    ...(Object.keys(health.details).length === 0 ? {} : { details: { ...health.details } }),
    ...(health.traits.length === 0
      ? {}
      : {
          traits: health.traits.map(({ details, ...trait }) => ({
            ...trait,
            ...(details === undefined ? {} : { details: { ...details } }),
          })),
        }),
  };
}

/** A policy added it; built-in rules judge its objects. */
const unknownComponent = (name: string): Component => ({
  name,
  type: "",
  properties: {},
  traits: [],
  dependsOn: [],
  inputs: [],
  outputs: [],
});

function appliedOf({ entry, observed }: Seen): AppliedResource {
  const { cluster, creator, apiVersion, kind, name, namespace } = entry;
  const uid = observed.live?.metadata.uid;
  return {
    cluster,
    creator,
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}
