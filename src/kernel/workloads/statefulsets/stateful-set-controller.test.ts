import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, formatTime } from "#lib/base/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import {
  ControllerRevision,
  controllerReference,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
  type Stored,
} from "#kernel/model/index.ts";
import type { ClaimObject } from "../claims/claim.ts";
import type { PodObject } from "../pod-types.ts";
import {
  type RevisionObject,
  revisionLabel,
  type StatefulSetObject,
  type StatefulSetSpec,
} from "../stateful-set-types.ts";
import { bench, type Bench, shellPod } from "../testing/index.ts";
import { addStatefulSetController } from "./stateful-set-controller.ts";

let clock: FakeClock;
let client: MemoryClient;
let place: Bench;

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock, types: [StatefulSet, ControllerRevision, PersistentVolumeClaim] });
  place = bench({ clock, client });
  addStatefulSetController(place.manager, { instance: "test" });
  place.start();
});
afterEach(async () => {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
});

const labels = { app: "web" };
const ref = { type: StatefulSet, namespace: "default", name: "web" };
const podRef = (name: string) => ({ type: Pod, namespace: "default", name });
const template = (script = "true") => ({ metadata: { labels }, spec: shellPod("web", script).spec });

async function create(spec: Partial<StatefulSetSpec> = {}): Promise<Stored<StatefulSetObject>> {
  const set = await client.create<StatefulSetObject>(StatefulSet, {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 3, serviceName: "nodes", selector: { matchLabels: labels }, template: template(), ...spec },
  });
  await clock.advance(1_000);
  return set;
}

const change = async (spec: object) => {
  await client.patch(ref, { type: "merge", body: { spec: { ...spec } } });
  await clock.advance(1_000);
};
const setOf = () => client.get<StatefulSetObject>(ref);
const podsOf = async () =>
  (await client.list<PodObject>(Pod, { namespace: "default" })).items.filter(({ metadata }) =>
    metadata.name.startsWith("web-"),
  );
const names = async () => (await podsOf()).map(({ metadata }) => metadata.name);
const claims = async () =>
  (await client.list<ClaimObject>(PersistentVolumeClaim, { namespace: "default" })).items.map(
    ({ metadata }) => metadata.name,
  );
const revisions = async () =>
  (await client.list<RevisionObject>(ControllerRevision, { namespace: "default" })).items
    .toSorted((a, b) => a.revision - b.revision)
    .map(({ revision, data }) => [revision, data.spec.template.spec.containers[0]?.command?.at(-1)]);
const scripts = async () =>
  (await podsOf()).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.command?.at(-1)}`);

async function report(name: string, isReady: boolean, phase: "Running" | "Failed" = "Running"): Promise<void> {
  const lastTransitionTime = formatTime(clock.now());
  const ready = { type: "Ready", status: isReady ? ("True" as const) : ("False" as const), lastTransitionTime };
  await client.patch(
    podRef(name),
    { type: "merge", body: { status: { phase, conditions: [{ ...ready }] } } },
    { subresource: "status" },
  );
  await clock.advance(1_000);
}
/** All Pods become ready, and those that are made then, until nothing is left to do. */
async function settle(): Promise<void> {
  for (let round = 0; round < 12; round++) {
    await clock.advance(1_000);
    for (const { metadata, status } of await podsOf())
      if (status?.conditions?.[0]?.status !== "True") await report(metadata.name, true);
  }
}

describe("Pods", () => {
  test("start one after the other, each when the one before is ready, with names that they keep", async () => {
    const set = await create();
    expect(await names()).toEqual(["web-0"]);
    await report("web-0", false);
    expect(await names()).toEqual(["web-0"]);
    await report("web-0", true);
    expect(await names()).toEqual(["web-0", "web-1"]);
    await settle();
    expect(await names()).toEqual(["web-0", "web-1", "web-2"]);
    const revision = (await setOf()).status?.updateRevision;
    expect(await client.get<PodObject>(podRef("web-1"))).toMatchObject({
      metadata: {
        labels: {
          ...labels,
          "statefulset.kubernetes.io/pod-name": "web-1",
          "apps.kubernetes.io/pod-index": "1",
          [revisionLabel]: revision,
        },
        ownerReferences: [controllerReference(set)],
      },
      spec: { hostname: "web-1", subdomain: "nodes" },
    });
    expect((await setOf()).status).toEqual({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      currentRevision: revision,
      updateRevision: revision,
      collisionCount: 0,
    });
  });

  test("start and stop all at once with Parallel, and begin at the ordinal that is wanted", async () => {
    await create({ podManagementPolicy: "Parallel", ordinals: { start: 5 } });
    expect(await names()).toEqual(["web-5", "web-6", "web-7"]);
    await change({ replicas: 0 });
    expect(await names()).toEqual([]);
  });

  test("stop one after the other, the highest first, none before that is gone", async () => {
    await create();
    await settle();
    const body = { metadata: { finalizers: ["example.org/hold"] } };
    await client.patch(podRef("web-2"), { type: "merge", body });
    await change({ replicas: 1 });
    expect((await client.get(podRef("web-2"))).metadata.deletionTimestamp).toBeDefined();
    expect(await names()).toEqual(["web-0", "web-1", "web-2"]);
    await client.patch(podRef("web-2"), { type: "merge", body: { metadata: { finalizers: [] } } });
    await clock.advance(1_000);
    expect(await names()).toEqual(["web-0"]);
  });

  test("that are deleted come back under their names, before later ones are looked after", async () => {
    await create();
    await settle();
    await client.delete(podRef("web-0"));
    await client.delete(podRef("web-1"));
    await clock.advance(1_000);
    expect(await names()).toEqual(["web-0", "web-2"]);
    await settle();
    expect(await names()).toEqual(["web-0", "web-1", "web-2"]);
  });

  test("that have ended are replaced after a pause", async () => {
    await create({ replicas: 1 });
    const [before] = await podsOf();
    await report("web-0", false, "Failed");
    expect((await podsOf())[0]?.metadata.uid).toBe(before?.metadata.uid);
    await clock.advance(5_000);
    expect((await podsOf())[0]?.metadata.uid).not.toBe(before?.metadata.uid);
    expect((await podsOf())[0]?.status?.phase).not.toBe("Failed");
  });

  test("count as available when they have been ready for minReadySeconds, and then the next one starts", async () => {
    await create({ replicas: 2, minReadySeconds: 30 });
    await report("web-0", true);
    await clock.advance(20_000);
    expect([await names(), (await setOf()).status?.availableReplicas]).toEqual([["web-0"], 0]);
    await clock.advance(15_000);
    expect([await names(), (await setOf()).status?.availableReplicas]).toEqual([["web-0", "web-1"], 1]);
  });

  test("of its names that nobody controls are taken in; others are left alone", async () => {
    for (const name of ["web-0", "web-x"])
      await client.create<PodObject>(Pod, {
        ...shellPod(name, "true"),
        metadata: { name, namespace: "default", labels },
      });
    const set = await create({ replicas: 1 });
    expect((await client.get(podRef("web-0"))).metadata.ownerReferences).toEqual([controllerReference(set)]);
    expect((await client.get(podRef("web-x"))).metadata.ownerReferences).toBeUndefined();
  });
});

describe("claims", () => {
  const volumeClaimTemplates = [
    {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  ];

  test("are made before the Pod that names them, and stay when it goes", async () => {
    await create({ replicas: 2, volumeClaimTemplates });
    await settle();
    expect(await claims()).toEqual(["data-web-0", "data-web-1"]);
    expect((await client.get<PodObject>(podRef("web-1"))).spec.volumes).toEqual([
      { name: "data", persistentVolumeClaim: { claimName: "data-web-1" } },
    ]);
    await change({ replicas: 0 });
    expect([await names(), await claims()]).toEqual([[], ["data-web-0", "data-web-1"]]);
  });

  test("go with the Pods that are not wanted any more, and belong to the set, when it says so", async () => {
    const persistentVolumeClaimRetentionPolicy = { whenDeleted: "Delete", whenScaled: "Delete" } as const;
    const { metadata } = await create({ replicas: 2, volumeClaimTemplates, persistentVolumeClaimRetentionPolicy });
    await settle();
    const claim = await client.get({ type: PersistentVolumeClaim, namespace: "default", name: "data-web-0" });
    expect(claim.metadata.ownerReferences).toMatchObject([{ kind: "StatefulSet", uid: metadata.uid }]);
    await change({ replicas: 1 });
    expect(await claims()).toEqual(["data-web-0"]);
  });
});

describe("a new template", () => {
  test("replaces one Pod at a time, the highest first, and is the present one when all are", async () => {
    await create();
    await settle();
    const before = (await setOf()).status?.currentRevision;
    await change({ template: template("new") });
    expect(await scripts()).toEqual(["web-0 true", "web-1 true", "web-2 new"]);
    const { status } = await setOf();
    expect(status).toMatchObject({ currentRevision: before, currentReplicas: 2, updatedReplicas: 1, readyReplicas: 2 });
    expect(status?.updateRevision).not.toBe(before);
    await report("web-2", true);
    expect(await scripts()).toEqual(["web-0 true", "web-1 new", "web-2 new"]);
    await settle();
    expect(await scripts()).toEqual(["web-0 new", "web-1 new", "web-2 new"]);
    expect((await setOf()).status?.currentRevision).toBe(status?.updateRevision);
    expect(await revisions()).toEqual([
      [1, "true"],
      [2, "new"],
    ]);
  });

  test("leaves Pods below the partition as they are, also when they come back", async () => {
    await create({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } });
    await settle();
    await change({ template: template("new") });
    await settle();
    await client.delete(podRef("web-0"));
    await settle();
    expect(await scripts()).toEqual(["web-0 true", "web-1 true", "web-2 new"]);
  });

  test("waits with OnDelete until somebody deletes a Pod", async () => {
    await create({ updateStrategy: { type: "OnDelete" } });
    await settle();
    await change({ template: template("new") });
    await settle();
    expect(await scripts()).toEqual(["web-0 true", "web-1 true", "web-2 true"]);
    await client.delete(podRef("web-1"));
    await settle();
    expect(await scripts()).toEqual(["web-0 true", "web-1 new", "web-2 true"]);
  });

  test("that was there before gets its revision back, counted up; old ones beyond the history go", async () => {
    await create({ replicas: 1, revisionHistoryLimit: 1 });
    for (const script of ["a", "b", "true"]) {
      await settle();
      await change({ template: template(script) });
    }
    await settle();
    // The first template was beyond the history when it came back: it is a new one.
    expect(await revisions()).toEqual([
      [3, "b"],
      [4, "true"],
    ]);
    await change({ template: template("b") });
    await settle();
    expect(await revisions()).toEqual([
      [4, "true"],
      [5, "b"],
    ]);
    expect(await scripts()).toEqual(["web-0 b"]);
  });
});

test("an idle set writes nothing", async () => {
  await create();
  await settle();
  const { metadata } = await setOf();
  await clock.advance(3_600_000);
  expect((await setOf()).metadata.resourceVersion).toBe(metadata.resourceVersion);
});
