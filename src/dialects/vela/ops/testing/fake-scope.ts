import {
  FakeClock,
  err,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ok,
  objectAt,
  objectsAt,
  silentLog,
} from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { asJson, type KubeObject, type ResourceType, Service, Ingress } from "#kernel/model/index.ts";
import type { App, Component } from "../../app.ts";
import type { Clusters, Delivery, Placement } from "../../delivery/delivery.ts";
import type { RenderedComponent, RenderedObject } from "../../render/rendered.ts";
import { ApplicationRevision } from "../../kinds.ts";
import { label } from "../../labels.ts";
import { writeRenderedResources } from "../../revision/store.ts";
import { Insight } from "../../schema/insight.ts";
import { Rollout } from "../../schema/rollout.ts";
import { SecurityProfile } from "../../schema/security-profile.ts";
import { fakeCue } from "../../testing/fake-cue.ts";
import { TrafficShift } from "../../schema/traffic-shift.ts";
import type { ActionScope } from "../provider.ts";

export const component = (name: string, ...objects: readonly JsonObject[]): Component => ({
  name,
  type: "k8s-objects",
  properties: { objects },
  traits: [],
  dependsOn: [],
  inputs: [],
  outputs: [],
});

export const deployment = (name: string, replicas: number, image = "nginx"): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { "app.oam.dev/component": name } },
    template: { metadata: { labels: { "app.oam.dev/component": name } }, spec: { containers: [{ name, image }] } },
  },
});

export const kindOf = (apiVersion: string, kind: string, plural: string): ResourceType => {
  const [group = "", version = ""] = apiVersion.split("/");
  return { group, version, kind, plural, namespaced: true };
};

export const fakeApp = (components: readonly Component[], revisionNumber = 1): App => ({
  identity: {
    name: "shop",
    namespace: "default",
    uid: "uid-shop",
    generation: revisionNumber,
    labels: {},
    annotations: {},
    revision: `shop-v${revisionNumber}`,
    revisionNumber,
    workflowName: "shop",
  },
  components,
  policies: [],
  workflow: { modes: { steps: "StepByStep", subSteps: "DAG" }, steps: [] },
});

export const clientWith = (types: readonly ResourceType[] = []) =>
  memoryClient({
    types: [ApplicationRevision, Rollout, TrafficShift, Insight, SecurityProfile, Service, Ingress, ...types],
  });

export interface FakeWorld {
  readonly clients: Readonly<Record<string, ApiClient>>;
  readonly labels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly clock?: FakeClock;
  /** Clusters that do not answer. */
  readonly unplugged?: ReadonlySet<string>;
}

/** A scope whose delivery renders the objects in a component's properties and stores them as they are. */
export function fakeScope(app: App, world: FakeWorld): ActionScope & { readonly said: string[] } {
  const { clients, labels = {}, unplugged = new Set() } = world;
  const notes = new Map<string, JsonValue>();
  const said: string[] = [];
  const client = clients["local"] ?? clientWith();
  const clusters: Clusters = {
    client: (name) => {
      const found = clients[name];
      if (found === undefined) return Promise.resolve(err(`failed to get cluster ${name}`));
      const raw = () => (unplugged.has(name) ? Promise.reject(new Error("ECONNREFUSED")) : Promise.resolve("{}"));
      return Promise.resolve(
        ok(new Proxy(found, { get: (target, key) => (key === "raw" ? raw : bound(target, key)) })),
      );
    },
    list: () => Promise.resolve(Object.entries(labels).map(([name, each]) => ({ name, labels: each }))),
  };
  return {
    app,
    step: {
      name: "step",
      type: "t",
      stage: "post-render",
      dependsOn: [],
      inputs: [],
      outputs: [],
      properties: {},
      subSteps: [],
    },
    stepId: "abcdefghij",
    path: "action",
    context: {},
    client,
    records: client,
    cue: fakeCue({}),
    execution: 0,
    clusters,
    delivery: fakeDelivery(app, clients, unplugged),
    variables: { get: () => undefined, set: () => undefined, isSensitive: () => false },
    notes: { get: (key) => notes.get(key), set: (key, value) => void notes.set(key, value) },
    clock: world.clock ?? new FakeClock(),
    log: silentLog,
    signal: new AbortController().signal,
    say: (message) => void said.push(message),
    print: (line) => void said.push(line),
    once: () => Promise.resolve({ kind: "error", message: "not here" }),
    ask: () => Promise.resolve({ kind: "error", message: "not here" }),
    patched: () => Promise.resolve(err("not here")),
    said,
  };
}

function bound(target: ApiClient, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key);
  return typeof value === "function" ? value.bind(target) : value;
}

function fakeDelivery(app: App, clients: FakeWorld["clients"], unplugged: ReadonlySet<string>): Delivery {
  const { name, namespace } = app.identity;
  const clientOf = ({ cluster }: Placement) => {
    if (unplugged.has(cluster) || clients[cluster] === undefined) throw new Error(`failed to get cluster ${cluster}`);
    return clients[cluster];
  };
  const labelled = (object: KubeObject, of: string): KubeObject => ({
    ...object,
    metadata: {
      namespace,
      ...object.metadata,
      labels: {
        ...object.metadata.labels,
        "app.oam.dev/name": name,
        ...(of === "" ? {} : { "app.oam.dev/component": of }),
      },
    },
  });
  const store = async (object: KubeObject, placement: Placement) => {
    const client = clientOf(placement);
    const type = await client.resourceType(object.apiVersion, object.kind);
    if (type === undefined) throw new Error(`no kind ${object.kind} in version ${object.apiVersion}`);
    const ref = refTo(type, object);
    const found = await getOrUndefined(client, ref);
    return found === undefined
      ? client.create(type, object)
      : client.patch(ref, { type: "merge", body: asJson(object) });
  };
  return {
    app,
    render: (each) => Promise.resolve(ok(renderedOf(each, labelled))),
    apply: async (objects, placement) => {
      try {
        const stored = [];
        for (const { object } of objects) stored.push(await store(object, placement));
        return ok(stored);
      } catch (thrown) {
        return err(String(thrown));
      }
    },
    applyObject: async (object, placement) => ok(await store(labelled(object, ""), placement)),
    remove: async (object, placement) => {
      const client = clientOf(placement);
      const type = await client.resourceType(object.apiVersion, object.kind);
      const live = type && (await getOrUndefined(client, refTo(type, object)));
      if (type !== undefined && live !== undefined) await client.delete(refTo(type, live));
      return ok(undefined);
    },
    health: async ({ workload }, placement) => {
      const client = clientOf(placement);
      const type = await client.resourceType(workload.object.apiVersion, workload.object.kind);
      const live = type === undefined ? undefined : await getOrUndefined(client, refTo(type, workload.object));
      const wanted = objectAt(asJson(workload.object), "spec")?.["replicas"];
      const status = live !== undefined && isJsonObject(live.status) ? live.status : {};
      const isHealthy = wanted === undefined || status["readyReplicas"] === wanted || wanted === 0;
      return { isHealthy, isWorkloadHealthy: isHealthy, message: isHealthy ? "" : "Ready:0", details: {}, traits: [] };
    },
    patchComponent: () => undefined,
  };
}

/** A revision with its rendered objects, as a controller stores it. */
export async function storeRevision(
  { app, records, clock, signal }: ActionScope,
  number: number,
  objects: readonly RenderedObject[],
  succeeded = true,
): Promise<void> {
  const { name, namespace } = app.identity;
  const labels = { [label.app]: name, [label.appNamespace]: namespace };
  const metadata = { name: `${name}-v${number}`, namespace, labels };
  const revision = { apiVersion: "core.oam.dev/v1beta1", kind: "ApplicationRevision", metadata, spec: {} };
  const stored = await records.create(ApplicationRevision, revision);
  await records.patch(
    refTo(ApplicationRevision, stored),
    { type: "merge", body: { status: { succeeded } } },
    { subresource: "status" },
  );
  await writeRenderedResources({ client: records, clock, signal }, stored, objects);
}

/** What the present revision has, stored as it. */
export async function storePresent(scope: ActionScope): Promise<void> {
  const objects: RenderedObject[] = [];
  for (const each of scope.app.components) {
    const rendered = await scope.delivery.render(each);
    if (rendered.ok) objects.push(rendered.value.workload, ...rendered.value.auxiliaries);
  }
  await storeRevision(scope, scope.app.identity.revisionNumber, objects);
}

function renderedOf(each: Component, labelled: (object: KubeObject, of: string) => KubeObject): RenderedComponent {
  const objects = objectsAt(each.properties, "objects").map(
    (object, index): RenderedObject => ({
      key: index === 0 ? each.name : `${each.name}.AuxiliaryWorkload.${index}`,
      role: index === 0 ? "WORKLOAD" : "TRAIT",
      component: each.name,
      object: labelled(object as unknown as KubeObject, each.name),
    }),
  );
  const [workload, ...auxiliaries] = objects;
  if (workload === undefined) throw new Error("a component of the fake needs an object");
  return { component: each, workload, auxiliaries };
}

/** Plays the cluster: all replicas of all Deployments become ready. */
export async function becomeReady(client: ApiClient): Promise<void> {
  const type = await client.resourceType("apps/v1", "Deployment");
  if (type === undefined) return;
  for (const item of (await client.list(type)).items) {
    const replicas = objectAt(asJson(item), "spec")?.["replicas"] ?? 1;
    const status = {
      replicas,
      readyReplicas: replicas,
      updatedReplicas: replicas,
      observedGeneration: item.metadata.generation ?? 1,
    };
    await client.patch(refTo(type, item), { type: "merge", body: { status } }, { subresource: "status" });
  }
}

/** Replicas of all Deployments by name. */
export async function replicasIn(client: ApiClient): Promise<Readonly<Record<string, JsonValue | undefined>>> {
  const type = await client.resourceType("apps/v1", "Deployment");
  if (type === undefined) return {};
  const { items } = await client.list(type);
  return Object.fromEntries(items.map((item) => [item.metadata.name, objectAt(asJson(item), "spec")?.["replicas"]]));
}
