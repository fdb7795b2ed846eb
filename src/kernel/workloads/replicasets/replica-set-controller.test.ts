import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import {
  ApiError,
  controllerOf,
  controllerReference,
  Event,
  type KubeObject,
  Pod,
  ReplicaSet,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import type { ReplicaSetObject, ReplicaSetSpec } from "../deployment-types.ts";
import type { PodObject } from "../pod-types.ts";
import { bench, type Bench, shellPod } from "../testing/index.ts";
import { addReplicaSetController } from "./replica-set-controller.ts";

/** An API that refuses new Pods while a quota stands against them. */
class QuotaClient {
  isFull = false;
  readonly client: MemoryClient;

  constructor(clock: FakeClock) {
    this.client = memoryClient({ clock });
    const create = this.client.create.bind(this.client);
    this.client.create = <T extends KubeObject>(type: ResourceType, object: T) =>
      this.isFull && type === Pod
        ? Promise.reject(new ApiError("Forbidden", "exceeded quota: pods"))
        : create<T>(type, object);
  }
}

let clock: FakeClock;
let quota: QuotaClient;
let client: MemoryClient;
let place: Bench;

beforeEach(() => {
  clock = new FakeClock();
  quota = new QuotaClient(clock);
  ({ client } = quota);
  place = bench({ clock, client });
  addReplicaSetController(place.manager, { instance: "test" });
  place.start();
});
afterEach(async () => {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
});

const labels = { app: "web" };
const ref = { type: ReplicaSet, namespace: "default", name: "web" };

async function create(spec: Partial<ReplicaSetSpec> = {}): Promise<Stored<ReplicaSetObject>> {
  const set = await client.create<ReplicaSetObject>(ReplicaSet, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: shellPod("web", "true").spec },
      ...spec,
    },
  });
  await clock.advance(1_000);
  return set;
}

const setOf = () => client.get<ReplicaSetObject>(ref);
const podsOf = async () => (await client.list<PodObject>(Pod, { namespace: "default" })).items;
const scale = async (replicas: number) => {
  await client.patch(ref, { type: "merge", body: { spec: { replicas } } });
  await clock.advance(1_000);
};
const stray = (name: string, more: object = {}) =>
  client.create<PodObject>(Pod, {
    ...shellPod(name, "true"),
    metadata: { name, namespace: "default", labels, ...more },
  });
const told = async () => {
  await clock.advance(5_000);
  const { items } = await client.list(Event, { namespace: "default" });
  return items.map((event) => String(Reflect.get(event, "reason"))).sort((a, b) => (a < b ? -1 : 1));
};

test("as many Pods as are wanted, made from the template and controlled by the set", async () => {
  const set = await create();
  const pods = await podsOf();
  expect(pods).toHaveLength(2);
  for (const { metadata } of pods) {
    expect(metadata).toMatchObject({ labels, ownerReferences: [controllerReference(set)] });
    expect(metadata.name).toMatch(/^web-/);
  }
  expect((await setOf()).status).toMatchObject({ replicas: 2, fullyLabeledReplicas: 2 });
  expect(await told()).toEqual(["SuccessfulCreate", "SuccessfulCreate"]);
});

test("an idle set writes nothing", async () => {
  await create();
  const { metadata } = await setOf();
  await clock.advance(3_600_000);
  expect((await setOf()).metadata.resourceVersion).toBe(metadata.resourceVersion);
});

test("more and fewer when it is scaled", async () => {
  await create();
  await scale(5);
  expect(await podsOf()).toHaveLength(5);
  await scale(1);
  expect(await podsOf()).toHaveLength(1);
  expect((await setOf()).status).toMatchObject({ replicas: 1 });
  expect((await told()).filter((reason) => reason === "SuccessfulDelete")).toHaveLength(4);
});

test("a Pod that is deleted is replaced, also while it still ends", async () => {
  await create({ replicas: 1 });
  const [first] = await podsOf();
  const one = { type: Pod, namespace: "default", name: first?.metadata.name ?? "" };
  await client.patch(one, { type: "merge", body: { spec: { nodeName: "n" } } });
  await client.delete(one);
  await clock.advance(1_000);
  const pods = await podsOf();
  expect(pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toHaveLength(1);
  expect(pods).toHaveLength(2);
});

test("Pods of its labels that nobody controls are taken, as far as they are needed", async () => {
  await stray("a");
  await stray("b");
  await stray("c");
  const set = await create();
  const pods = await podsOf();
  expect(pods).toHaveLength(2);
  for (const pod of pods) expect(controllerOf(pod)?.uid).toBe(set.metadata.uid);
});

test("one that appears later is taken at once", async () => {
  await create({ replicas: 1 });
  const late = await stray("late");
  await clock.advance(1_000);
  const pods = await podsOf();
  expect(pods).toHaveLength(1);
  expect(pods.every((pod) => controllerOf(pod) !== undefined)).toBe(true);
  expect(late.metadata.ownerReferences).toBeUndefined();
});

test("a Pod whose labels fit no more is let go, lives on, and is replaced", async () => {
  await create({ replicas: 1 });
  const [pod] = await podsOf();
  const one = { type: Pod, namespace: "default", name: pod?.metadata.name ?? "" };
  await client.patch(one, { type: "merge", body: { metadata: { labels: { app: "aside" } } } });
  await clock.advance(1_000);
  const aside = await client.get(one);
  expect([controllerOf(aside), aside.metadata.deletionTimestamp]).toEqual([undefined, undefined]);
  expect(await podsOf()).toHaveLength(2);
});

test("Pods of somebody else's are left alone", async () => {
  const other = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "other", uid: "other", controller: true };
  await stray("theirs", { ownerReferences: [other] });
  await create({ replicas: 1 });
  expect(await podsOf()).toHaveLength(2);
  expect(controllerOf(await client.get({ type: Pod, namespace: "default", name: "theirs" }))?.uid).toBe("other");
});

test("what is refused stands in a condition and an event until it succeeds", async () => {
  quota.isFull = true;
  await create();
  const failure = conditionOf((await setOf()).status?.conditions, "ReplicaFailure");
  expect(failure).toMatchObject({ status: "True", reason: "FailedCreate", message: "exceeded quota: pods" });
  expect(new Set(await told())).toEqual(new Set(["FailedCreate"]));
  quota.isFull = false;
  await clock.advance(600_000);
  expect(await podsOf()).toHaveLength(2);
  expect((await setOf()).status?.conditions ?? []).toEqual([]);
});

test("a set that is being deleted makes no Pods any more", async () => {
  await create({ replicas: 1 });
  await client.patch(ref, { type: "merge", body: { metadata: { finalizers: ["example.com/hold"] } } });
  await client.delete(ref);
  for (const { metadata } of await podsOf())
    await client.delete({ type: Pod, namespace: "default", name: metadata.name });
  await clock.advance(60_000);
  expect(await podsOf()).toEqual([]);
});
