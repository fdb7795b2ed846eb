import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import {
  controllerReference,
  Event,
  type KubeObject,
  Namespace,
  type OwnerReference,
  Pod,
  ReplicaSet,
  type Stored,
} from "#kernel/model/index.ts";
import type { ReplicaSetObject } from "./deployment-types.ts";
import type { PodObject } from "./pod-types.ts";
import { bench, type Bench, shellPod } from "./testing/index.ts";
import {
  addWorkloadController,
  ownChildren,
  type Workload,
  type WorkloadKind,
  adoptable,
} from "./workload-controller.ts";

const sets: WorkloadKind<ReplicaSetObject> = {
  name: "test-sets",
  reporter: "slipway.dev/test-controller",
  type: ReplicaSet,
  childType: Pod,
};
const adoptingSets: WorkloadKind<ReplicaSetObject> = { ...sets, selectorOf: ({ spec }) => spec.selector };

let clock: FakeClock;
let client: MemoryClient;
let place: Bench;
/** Keys of the passes since they were last looked at. */
let passes: string[];

beforeEach(async () => {
  clock = new FakeClock();
  client = memoryClient({ clock });
  place = bench({ clock, client });
  passes = [];
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } });
});
afterEach(async () => {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
});

async function start(kind: WorkloadKind<ReplicaSetObject>): Promise<Workload<ReplicaSetObject, PodObject>> {
  let given: Workload<ReplicaSetObject, PodObject> | undefined;
  addWorkloadController<ReplicaSetObject, PodObject>(place.manager, kind, { instance: "here" }, (workload) => {
    given = workload;
    return { reconcile: async ({ namespace, name }) => void passes.push(`${namespace}/${name}`) };
  });
  place.start();
  await clock.advance(0);
  if (given === undefined) throw new Error("no reconciler was asked for");
  return given;
}

async function passesOf(change: () => Promise<unknown>): Promise<readonly string[]> {
  await clock.advance(0);
  passes.length = 0;
  await change();
  await clock.advance(0);
  return [...passes];
}

const createSet = (name: string, app = name) =>
  client.create<ReplicaSetObject>(ReplicaSet, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name, namespace: "default" },
    spec: {
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: shellPod(name, "true").spec },
    },
  });

const createPod = (name: string, metadata: Partial<KubeObject["metadata"]> = {}) =>
  client.create<PodObject>(Pod, { ...shellPod(name, "true"), metadata: { name, namespace: "default", ...metadata } });

const namesOf = (objects: readonly Stored[]) => objects.map(({ metadata }) => metadata.name).sort();

test("an object gets a pass when it changes, and when a child of it does", async () => {
  await start(sets);
  expect(await passesOf(() => createSet("a"))).toEqual(["default/a"]);
  const owner = await client.get({ type: ReplicaSet, namespace: "default", name: "a" });
  const ownerReferences = [controllerReference(owner)];
  expect(await passesOf(() => createPod("p", { ownerReferences }))).toEqual(["default/a"]);
  expect(await passesOf(() => createPod("q"))).toEqual([]);
});

test("children are found by the name of their controller, whichever version of the kind it names", async () => {
  const workload = await start(sets);
  const set = await createSet("a");
  const own = controllerReference(set);
  const others: readonly [string, OwnerReference][] = [
    ["former", { ...own, uid: "former" }],
    ["version", { ...own, apiVersion: "apps/v1beta2" }],
    ["group", { ...own, apiVersion: "example.com/v1" }],
    ["kind", { ...own, kind: "Deployment" }],
    ["owned", { ...own, controller: false }],
    ["elsewhere", own],
  ];
  for (const [name, owner] of others) {
    const namespace = name === "elsewhere" ? "other" : "default";
    await createPod(name, { namespace, ownerReferences: [owner] });
  }
  await clock.advance(0);
  expect(namesOf(workload.childrenOf("default/a"))).toEqual(["former", "version"]);
  expect(namesOf(ownChildren(workload, set))).toEqual(["version"]);
  expect(workload.childrenOf("default/b")).toEqual([]);
});

test("without a selector, objects without a controller are ignored", async () => {
  const workload = await start(sets);
  const set = await createSet("a");
  expect(await passesOf(() => createPod("stray", { labels: { app: "a" } }))).toEqual([]);
  expect(workload.candidatesFor(set)).toEqual([]);
});

test("with a selector, an object without a controller reconciles the objects that would adopt it", async () => {
  const workload = await start(adoptingSets);
  const set = await createSet("a");
  await createSet("b");
  await createSet("second-a", "a");
  const took = await passesOf(() => createPod("stray", { labels: { app: "a" } }));
  expect(took.toSorted()).toEqual(["default/a", "default/second-a"]);
  expect(await passesOf(() => createPod("far", { namespace: "other", labels: { app: "a" } }))).toEqual([]);
  expect(await passesOf(() => createPod("none", { labels: { app: "c" } }))).toEqual([]);
  expect(namesOf(workload.candidatesFor(set))).toEqual(["none", "stray"]);
  expect(namesOf(adoptable(set, workload.candidatesFor(set)))).toEqual(["stray"]);
});

test("what is told becomes an event of the genuine controller about that very object", async () => {
  const { tell } = await start(sets);
  const set = await createSet("a");
  tell(set, { type: "Normal", reason: "SuccessfulCreate", action: "Create", text: "Created pod: p" });
  tell(set, { type: "Warning", reason: "FailedCreate", text: "Error creating: quota" });
  await clock.advance(2_000);
  const { items } = await client.list(Event, { namespace: "default" });
  const common = {
    reportingController: "slipway.dev/test-controller",
    reportingInstance: "here",
    regarding: { kind: "ReplicaSet", name: "a", uid: set.metadata.uid },
  };
  expect(items).toMatchObject([
    { ...common, type: "Normal", reason: "SuccessfulCreate", action: "Create", note: "Created pod: p" },
    { ...common, type: "Warning", reason: "FailedCreate", action: "FailedCreate", note: "Error creating: quota" },
  ]);
});
