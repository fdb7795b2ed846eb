import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { ConfigMap, Deployment } from "#kernel/model/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { App, Policy } from "../app.ts";
import { application, clustersOf, component, policy, testClient, testDelivery } from "../testing/fixtures.ts";
import { deploy, type DeployOutcome, withInputs } from "./deploy.ts";

const topology = (...clusters: string[]) => policy("topology", { clusters }, `topology-${clusters.join("-")}`);

interface Cluster {
  readonly client: ReturnType<typeof testClient>;
  readonly names: () => Promise<readonly (string | undefined)[]>;
  readonly makeReady: (name: string) => Promise<void>;
}

function cluster(): Cluster {
  const client = testClient();
  return {
    client,
    names: async () => (await client.list(Deployment)).items.map(({ metadata }) => metadata.name),
    async makeReady(name) {
      const live = await client.get({ type: Deployment, namespace: "default", name });
      const { generation: observedGeneration = 1 } = live.metadata;
      const conditions = [{ type: "Available", status: "True" }];
      const status = { observedGeneration, replicas: 1, updatedReplicas: 1, conditions };
      await client.updateStatus(Deployment, { ...live, status });
    },
  };
}

function setUp(app: App, clients: Readonly<Record<string, ApiClient>> = {}) {
  const local = cluster();
  const clusters = clustersOf({ local: local.client, ...clients });
  const { next } = testDelivery(app, { clusters, client: local.client, own: local.client });
  const values = new Map<string, JsonValue>();
  const variables = {
    get: (name: string) => values.get(name),
    set: (name: string, value: JsonValue) => void values.set(name, value),
  };
  const run = async (...policies: Policy[]): Promise<DeployOutcome> => {
    const delivery = next();
    const { cue, signal } = delivery.parts;
    return await deploy({ policies }, { delivery, clusters, cue, variables, signal });
  };
  return { local, run, values };
}

const web = (name: string, more: object = {}) =>
  component(name, "webservice", { properties: { image: "nginx" }, ...more });

test("17.3 components are applied one after another, as those they depend on become healthy", async () => {
  const chain = [web("c", { dependsOn: ["b"] }), web("a"), web("b", { dependsOn: ["a"] })];
  const { local, run } = setUp(application({ components: chain }));
  expect(await run()).toEqual({
    kind: "wait",
    reasons: [
      "local/default/c is waiting dependents",
      "local/default/a is not healthy: Deployment default/a is not ready",
      "local/default/b is waiting dependents",
    ],
  });
  expect(await local.names()).toEqual(["a"]);
  await local.makeReady("a");
  await run();
  expect(await local.names()).toEqual(["a", "b"]);
  await local.makeReady("b");
  await run();
  await local.makeReady("c");
  expect(await run()).toEqual({ kind: "done" });
});

test("17.17 topology: two clusters are served, each one for itself", async () => {
  const [east, west] = [cluster(), cluster()];
  const app = application({ components: [web("a"), web("b", { dependsOn: ["a"] })] });
  const { local, run } = setUp(app, { east: east.client, west: west.client });
  await run(topology("east", "west"));
  await west.makeReady("a");
  expect(await run(topology("east", "west"))).toEqual({
    kind: "wait",
    reasons: [
      "east/default/a is not healthy: Deployment default/a is not ready",
      "east/default/b is waiting dependents",
      "west/default/b is not healthy: Deployment default/b is not ready",
    ],
  });
  expect([await local.names(), await east.names(), await west.names()]).toEqual([[], ["a"], ["a", "b"]]);
});

test("17.17 override: what is deployed is what the policies make of the components", async () => {
  const { local, run } = setUp(application({ components: [web("a"), web("b")] }));
  const override = policy("override", {
    components: [
      { name: "a", properties: { image: "nginx:2" }, traits: [{ type: "scaler", properties: { replicas: 2 } }] },
    ],
    selector: ["a"],
  });
  await run(override);
  expect(await local.names()).toEqual(["a"]);
  const { spec } = await local.client.get({ type: Deployment, namespace: "default", name: "a" });
  expect(spec).toMatchObject({ replicas: 2, template: { spec: { containers: [{ image: "nginx:2" }] } } });
});

test("bad input: a cluster that is unknown ends the attempt; one that does not answer is waited for while others go on", async () => {
  const west = cluster();
  const east = new Proxy(cluster().client, {
    get: (target, name) =>
      name === "raw" ? () => Promise.reject(new Error("connection refused")) : Reflect.get(target, name),
  });
  const { run } = setUp(application({ components: [component("a", "config")] }), { east, west: west.client });
  expect(await run(topology("mars"))).toEqual({ kind: "error", message: "failed to get cluster mars" });
  expect(await run(topology("east", "west"))).toEqual({
    kind: "wait",
    reasons: ["cluster east is not reachable: connection refused"],
  });
  expect((await west.client.list(ConfigMap, { namespace: "default" })).items).toHaveLength(1);
});

test("an error of one component is reported after the others were served", async () => {
  const { local, run } = setUp(application({ components: [component("bad", "broken"), web("a")] }));
  expect(await run()).toEqual({ kind: "error", message: 'local/default/bad: component "bad": image is required' });
  expect(await local.names()).toEqual(["a"]);
});

test("17.12 inputs and outputs of components: a consumer waits until the producer's output exists", async () => {
  const producer = component("db", "config", {
    properties: { host: "db.local" },
    outputs: [{ name: "host", valueFrom: "output.data.host" }],
  });
  const consumer = component("app", "config", { inputs: [{ from: "host", parameterKey: "dbHost" }] });
  const { local, run, values } = setUp(application({ components: [consumer, producer] }));
  expect(await run()).toEqual({ kind: "done" });
  expect(values.get("host")).toBe("db.local");
  const live = await local.client.get({ type: ConfigMap, namespace: "default", name: "app" });
  expect(live).toMatchObject({ data: { dbHost: "db.local" } });
});

test("an output that does not exist yet is waited for", async () => {
  const producer = component("db", "config", { outputs: [{ name: "ip", valueFrom: "output.status.ip" }] });
  const { run } = setUp(application({ components: [producer] }));
  expect(await run()).toEqual({
    kind: "wait",
    reasons: ["local/default/db is not healthy: waiting for output ip from output.status.ip"],
  });
});

test("replicated components are deployed once for each key, under their key", async () => {
  const keyed = component("a", "object", {
    properties: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } },
  });
  const { run } = setUp(application({ components: [{ ...keyed, type: "webservice" }] }));
  const outcome = await run(policy("replication", { keys: ["k1", "k2"] }));
  expect(outcome).toMatchObject({
    reasons: [expect.stringMatching(/^local\/default\/k1\/a is/), expect.stringMatching(/^local\/default\/k2\/a is/)],
  });
});

test("17.12 keys of inputs: properties by default, whole paths into properties and traits", () => {
  const variables = {
    get: (name: string): JsonValue | undefined => (name === "db" ? { host: "h" } : undefined),
    set: () => undefined,
  };
  const one = component("a", "webservice", {
    properties: { env: [] },
    traits: [{ type: "scaler", properties: {} }],
    inputs: [
      { from: "db.host", parameterKey: "env[1].value" },
      { from: "db", parameterKey: "properties.db" },
      { from: "db.host", parameterKey: "traits[0].properties.host" },
      { from: "db", parameterKey: "" },
    ],
  });
  expect(withInputs(one, variables)).toMatchObject({
    properties: { env: [{}, { value: "h" }], db: { host: "h" } },
    traits: [{ type: "scaler", properties: { host: "h" } }],
  });
  expect(withInputs({ ...one, inputs: [{ from: "db", parameterKey: "a[x" }] }, variables)).toBe(
    'input db: invalid parameterKey "a[x"',
  );
});
