import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { controllerOf, Deployment, Event, Pod, ReplicaSet, type Stored } from "#kernel/model/index.ts";
import {
  type DeploymentObject,
  type DeploymentSpec,
  type ReplicaSetObject,
  revisionAnnotation,
  templateHashLabel,
} from "../deployment-types.ts";
import type { PodObject } from "../pod-types.ts";
import { addReplicaSetController } from "../replicasets/replica-set-controller.ts";
import { bench, type Bench, shellPod } from "../testing/index.ts";
import { addDeploymentController } from "./deployment-controller.ts";

let clock: FakeClock;
let client: MemoryClient;
let place: Bench;

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock });
  place = bench({ clock, client });
  addReplicaSetController(place.manager, { instance: "test" });
  addDeploymentController(place.manager, { instance: "test" });
  place.start();
});
afterEach(async () => {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
});

const labels = { app: "web" };
const ref = { type: Deployment, namespace: "default", name: "web" };
const templateOf = (script: string) => ({ metadata: { labels }, spec: shellPod("web", script).spec });

async function create(spec: Partial<DeploymentSpec> = {}): Promise<Stored<DeploymentObject>> {
  const deployment = await client.create<DeploymentObject>(Deployment, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: templateOf("one"),
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      ...spec,
    },
  });
  await clock.advance(1_000);
  return deployment;
}

const deploymentOf = () => client.get<DeploymentObject>(ref);
const setsOf = async () => (await client.list<ReplicaSetObject>(ReplicaSet, { namespace: "default" })).items;
const podsOf = async () => (await client.list<PodObject>(Pod, { namespace: "default" })).items;
/** The script of a set's Pods and how many it is to have, oldest revision first. */
const sizes = async () =>
  (await setsOf())
    .toSorted((a, b) => Number(revisionOf(a)) - Number(revisionOf(b)))
    .map(({ spec }) => `${spec.template.spec.containers[0]?.command?.[2]}: ${spec.replicas}`);
const revisionOf = ({ metadata }: Stored) => metadata.annotations?.[revisionAnnotation];
const change = async (body: object) => {
  await client.patch(ref, { type: "merge", body: { spec: { ...body } } });
  await clock.advance(1_000);
};

/** Makes all Pods ready, until nothing more happens by that. */
async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) {
    for (const pod of await podsOf()) {
      if (conditionOf(pod.status?.conditions, "Ready") !== undefined) continue;
      const time = "2026-01-01T00:00:00Z";
      const ready = { type: "Ready", status: "True", reason: "", message: "", lastTransitionTime: time } as const;
      await client.updateStatus<PodObject>(Pod, { ...pod, status: { phase: "Running", conditions: [ready] } });
    }
    await clock.advance(1_000);
  }
}

const told = async () => {
  await clock.advance(5_000);
  const { items } = await client.list(Event, { namespace: "default" });
  return items
    .filter((event) => Reflect.get(event, "reason") === "ScalingReplicaSet")
    .map((event) => String(Reflect.get(event, "note")).replace(/web-\S+/, "web-…"));
};

test("a set of its template is made, controlled by it, numbered and named after the template", async () => {
  const { metadata } = await create();
  const [set, ...others] = await setsOf();
  expect(others).toEqual([]);
  const hash = set?.metadata.labels?.[templateHashLabel];
  expect(set?.metadata.name).toBe(`web-${hash}`);
  expect(set?.spec).toMatchObject({ replicas: 2, selector: { matchLabels: { ...labels, [templateHashLabel]: hash } } });
  expect(set === undefined ? undefined : controllerOf(set)?.uid).toBe(metadata.uid);
  expect(revisionOf(await deploymentOf())).toBe("1");
  expect(await told()).toEqual(["Scaled up replica set web-… from 0 to 2"]);
});

test("when its Pods are ready it is available and complete", async () => {
  await create();
  await settle();
  const { status } = await deploymentOf();
  expect(status).toMatchObject({ replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 });
  expect(conditionOf(status?.conditions, "Available")).toMatchObject({ status: "True" });
  expect(conditionOf(status?.conditions, "Progressing")).toMatchObject({ reason: "NewReplicaSetAvailable" });
});

test("a new template is rolled out, the old set stays for undoing, and the old template takes it up again", async () => {
  await create();
  await settle();
  await change({ template: templateOf("two") });
  await settle();
  expect(await sizes()).toEqual(["one: 0", "two: 2"]);
  expect(revisionOf(await deploymentOf())).toBe("2");
  await change({ template: templateOf("one") });
  await settle();
  expect(await sizes()).toEqual(["two: 0", "one: 2"]);
  expect(revisionOf(await deploymentOf())).toBe("3");
  expect(await setsOf()).toHaveLength(2);
});

test("with new Pods that do not get ready the old ones stay, and after its deadline it counts as stuck", async () => {
  await create({ progressDeadlineSeconds: 60 });
  await settle();
  await change({ template: templateOf("broken") });
  expect(await sizes()).toEqual(["one: 2", "broken: 1"]);
  await clock.advance(61_000);
  const { status } = await deploymentOf();
  expect(conditionOf(status?.conditions, "Progressing")).toMatchObject({
    status: "False",
    reason: "ProgressDeadlineExceeded",
  });
  expect(await sizes()).toEqual(["one: 2", "broken: 1"]);
});

test("while it is paused a new template makes no set, and scaling goes on", async () => {
  await create({ paused: true, replicas: 1 });
  expect(await setsOf()).toEqual([]);
  await change({ paused: false });
  await settle();
  await change({ paused: true, template: templateOf("two") });
  await change({ replicas: 3 });
  await settle();
  expect(await sizes()).toEqual(["one: 3"]);
  await change({ paused: false });
  await settle();
  expect(await sizes()).toEqual(["one: 0", "two: 3"]);
});

test("no more former sets are kept than the limit says", async () => {
  await create({ revisionHistoryLimit: 1 });
  await settle();
  for (const script of ["two", "three", "four"]) {
    await change({ template: templateOf(script) });
    await settle();
  }
  expect(await sizes()).toEqual(["three: 0", "four: 2"]);
});

test("a set of its labels that nobody controls is taken when it appears", async () => {
  const deployment = await create();
  await settle();
  const [own] = await setsOf();
  if (own === undefined) throw new Error("no set was made");
  const orphanRef = { type: ReplicaSet, namespace: "default", name: own.metadata.name };
  await client.patch(orphanRef, { type: "merge", body: { metadata: { ownerReferences: null } } });
  await clock.advance(1_000);
  expect(controllerOf(await client.get(orphanRef))?.uid).toBe(deployment.metadata.uid);
  expect(await setsOf()).toHaveLength(1);
});

test("a name that another template's set has is gone around, and the collision is counted", async () => {
  await create({ replicas: 0, paused: true });
  // Whoever has the name of the set to come: found by making it once.
  await change({ paused: false });
  const [first] = await setsOf();
  if (first === undefined) throw new Error("no set was made");
  await client.delete(ref, { propagationPolicy: "Orphan" });
  await clock.advance(1_000);
  const place = { type: ReplicaSet, namespace: "default", name: first.metadata.name };
  const others = {
    metadata: { labels: { app: "other" } },
    spec: { template: { spec: { terminationGracePeriodSeconds: 1 } } },
  };
  await client.patch(place, { type: "merge", body: others });
  await create({ replicas: 0 });
  const sets = await setsOf();
  expect(sets).toHaveLength(2);
  expect((await deploymentOf()).status?.collisionCount).toBe(1);
  expect(controllerOf(await client.get(place))).toBeUndefined();
});
