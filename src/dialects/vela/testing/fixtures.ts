import { FakeClock, isJsonObject, type JsonObject, ok, type Result, err } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import type { App, AppIdentity, Component, Policy } from "../app.ts";
import type { Definition, Definitions, DefinitionType } from "../definitions/definition.ts";
import type { Clusters } from "../delivery/delivery.ts";
import { type DeliveryParts, VelaDelivery } from "../delivery/vela-delivery.ts";
import { Application, ApplicationRevision, ResourceTracker } from "../kinds.ts";
import { applyingClient } from "./applying-client.ts";
import { fakeCue, type FakeTemplate } from "./fake-cue.ts";

/** Members of a component that tests leave out. */
export const component = (name: string, type: string, more: Partial<Component> = {}): Component => ({
  name,
  type,
  properties: {},
  traits: [],
  dependsOn: [],
  inputs: [],
  outputs: [],
  ...more,
});

export const policy = (type: string, properties: JsonObject, name = type): Policy => ({ name, type, properties });

export const identity = (more: Partial<AppIdentity> = {}): AppIdentity => ({
  name: "shop",
  namespace: "default",
  uid: "app-uid",
  generation: 1,
  labels: {},
  annotations: {},
  revision: "shop-v1",
  revisionNumber: 1,
  workflowName: "shop",
  ...more,
});

export const application = (more: Partial<App> = {}): App => ({
  identity: identity(),
  components: [],
  policies: [],
  workflow: { modes: { steps: "DAG", subSteps: "DAG" }, steps: [] },
  ...more,
});

const place: ResourceType = { group: "", version: "v1", kind: "", plural: "", namespaced: true };
const serviceType: ResourceType = { ...place, kind: "Service", plural: "services" };

export const testClient = () =>
  applyingClient(
    memoryClient({
      types: [Application, ApplicationRevision, ResourceTracker, serviceType],
      namespaces: ["vela-system", "other"],
    }),
  );

/** Definitions whose template is their name. */
export function testDefinitions(specs: Readonly<Record<string, JsonObject>> = {}): Definitions {
  return {
    async find(type: DefinitionType, name: string): Promise<Definition | undefined> {
      const spec = specs[`${type}/${name}`];
      return spec === undefined ? undefined : { type, name, template: name, spec, annotations: {} };
    },
    names: async (type) =>
      Object.keys(specs).flatMap((key) => (key.startsWith(`${type}/`) ? [key.slice(type.length + 1)] : [])),
  };
}

/** A Deployment of an image, and what traits do to it. */
export const templates: Readonly<
  Record<string, (request: { parameter?: unknown; context?: JsonObject }) => FakeTemplate>
> = {
  webservice: ({ parameter, context }) => ({
    output: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      spec: {
        replicas: 1,
        template: { spec: { containers: [{ name: context?.["name"] ?? "", image: textOf(parameter, "image") }] } },
      },
    },
  }),
  config: ({ parameter }) => ({ output: { apiVersion: "v1", kind: "ConfigMap", data: data(parameter) } }),
  secret: ({ parameter }) => ({ output: { apiVersion: "v1", kind: "Secret", stringData: data(parameter) } }),
  scaler: ({ parameter }) => ({ patch: { spec: { replicas: Number(textOf(parameter, "replicas")) } } }),
  expose: () => ({ outputs: { service: { apiVersion: "v1", kind: "Service", spec: { ports: [{ port: 80 }] } } } }),
  object: ({ parameter }) => (isJsonObject(parameter) ? { output: parameter } : {}),
  broken: () => ({ errs: ["image is required"] }),
};

const textOf = (value: unknown, name: string): string => {
  const found = isJsonObject(value) ? value[name] : undefined;
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
};
const data = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const definitionSpecs: Readonly<Record<string, JsonObject>> = {
  "component/webservice": { workload: { definition: { apiVersion: "apps/v1", kind: "Deployment" } } },
  "component/config": {},
  "component/secret": {},
  "component/object": {},
  "component/broken": {},
  "trait/scaler": {},
  "trait/expose": {},
  "policy/object": {},
};

/** Clusters by name, of which `local` is the first. */
export const clustersOf = (
  clients: Readonly<Record<string, ApiClient>>,
  labels: Readonly<Record<string, Record<string, string>>> = {},
): Clusters => ({
  async client(cluster): Promise<Result<ApiClient, string>> {
    const client = clients[cluster];
    return client === undefined ? err(`failed to get cluster ${cluster}`) : ok(client);
  },
  list: async () => Object.keys(clients).map((name) => ({ name, labels: labels[name] ?? {} })),
});

export interface TestDelivery {
  readonly delivery: VelaDelivery;
  readonly client: ReturnType<typeof testClient>;
  /** The same objects, seen by the next pass. */
  readonly next: (app?: App) => VelaDelivery;
}

export function testDelivery(app: App, more: Partial<DeliveryParts> = {}): TestDelivery {
  const client = testClient();
  const parts: DeliveryParts = {
    app,
    client,
    own: client,
    clusters: clustersOf({ local: client }),
    definitions: testDefinitions(definitionSpecs),
    cue: fakeCue(templates),
    clock: new FakeClock(),
    systemNamespace: "vela-system",
    revisionHash: "0123456789abcdef",
    allowCrossNamespace: true,
    signal: new AbortController().signal,
    ...more,
  };
  return {
    delivery: new VelaDelivery(parts),
    client,
    next: (changed = app) => new VelaDelivery({ ...parts, app: changed }),
  };
}

/** The value, or the error as an exception. */
export function valueOf<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}
