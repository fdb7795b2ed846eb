import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import type { Informer } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ConfigMap, keyOf, Pod, type ResourceType, Secret, type Stored } from "#kernel/model/index.ts";
import type { PodObject, Volume } from "../pod-types.ts";
import { bench, type Bench, shellPod } from "../testing/index.ts";
import { VolumeFollower } from "./volume-follower.ts";

let clock: FakeClock;
let place: Bench;
let pods: Informer<PodObject>;
let follower: VolumeFollower;
/** Names of the pods that were refreshed. */
let refreshed: string[];
let told: string[];
/** What a refresh does. */
let refresh: () => Promise<readonly string[]>;

beforeEach(() => {
  clock = new FakeClock();
  place = bench({ clock, client: memoryClient({ clock }) });
  pods = place.manager.mirror<PodObject>(Pod);
  refreshed = [];
  told = [];
  refresh = async () => [];
  follower = new VolumeFollower({
    informers: place.manager.informers,
    pods,
    clock,
    log: place.manager.log,
    refresh(pod) {
      refreshed.push(pod.metadata.name);
      return refresh();
    },
    tell: ({ metadata }, problems) => told.push(`${metadata.name}: ${problems.join()}`),
  });
  place.start();
});
afterEach(async () => {
  follower.close();
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
});

const config = (name: string, optional = false): Volume => ({ name, configMap: { name, optional } });
const labels: Volume = {
  name: "labels",
  projected: {
    sources: [{ downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } }],
  },
};

/** A pod whose first looks are over. */
async function follow(name: string, ...volumes: readonly Volume[]): Promise<Stored<PodObject>> {
  const pod = await place.client.create<PodObject>(Pod, shellPod(name, "true", { volumes }));
  while (pods.get(keyOf(pod.metadata)) === undefined) await clock.advance(10);
  follower.follow(pod);
  follower.follow(pod);
  await clock.advance(3_000);
  refreshed.length = 0;
  return pod;
}

const put = (type: ResourceType, name: string, more: object = {}) =>
  place.client.create(type, {
    apiVersion: "v1",
    kind: type.kind,
    metadata: { name, namespace: "default" },
    ...more,
  });
const change = (type: ResourceType, name: string, body: object) =>
  place.client.patch({ type, namespace: "default", name }, { type: "merge", body: { ...body } });

/** Which pods were refreshed within the next two seconds. */
async function news(): Promise<readonly string[]> {
  refreshed.length = 0;
  await clock.advance(2_000);
  return refreshed;
}

test("a change of an object refreshes the pods that show it, once each, and no others", async () => {
  await put(ConfigMap, "shared");
  await put(ConfigMap, "other");
  await follow("a", config("shared"));
  await follow("b", { name: "p", projected: { sources: [{ configMap: { name: "shared" } }] } });
  await follow("c", config("other"));
  await follow("plain", { name: "e", emptyDir: {} });
  expect(await news()).toEqual([]);
  for (const value of ["1", "2", "3"]) await change(ConfigMap, "shared", { data: { value } });
  expect(await news()).toEqual(["a", "b"]);
  await change(ConfigMap, "other", { data: { value: "1" } });
  expect(await news()).toEqual(["c"]);
});

test("changes that do not end do not put a refresh off", async () => {
  await put(ConfigMap, "c");
  await follow("a", config("c"));
  for (let value = 0; value < 10; value++) {
    await change(ConfigMap, "c", { data: { value: `${value}` } });
    await clock.advance(500);
  }
  expect(refreshed.length).toBeGreaterThanOrEqual(3);
  expect(refreshed.length).toBeLessThanOrEqual(5);
});

test("a Secret is no ConfigMap of its name; what comes later, or goes, is news", async () => {
  await follow("a", { name: "s", secret: { secretName: "x", optional: true } });
  await put(ConfigMap, "x");
  expect(await news()).toEqual([]);
  await put(Secret, "x");
  expect(await news()).toEqual(["a"]);
  await place.client.delete({ type: Secret, namespace: "default", name: "x" });
  expect(await news()).toEqual(["a"]);
});

test("an immutable object is not looked at any more", async () => {
  await put(ConfigMap, "fixed");
  await follow("a", config("fixed"));
  await change(ConfigMap, "fixed", { immutable: true });
  expect(await news()).toEqual(["a"]);
  await change(ConfigMap, "fixed", { metadata: { labels: { changed: "yes" } } });
  expect(await news()).toEqual([]);
});

test("labels and annotations of a pod are news for volumes that tell of them, its status is none", async () => {
  const { metadata } = await follow("a", labels);
  await follow("b", config("c", true));
  await change(Pod, "a", { metadata: { labels: { app: "1" } } });
  await change(Pod, "b", { metadata: { labels: { app: "1" } } });
  expect(await news()).toEqual(["a"]);
  await change(Pod, "a", { metadata: { annotations: { note: "1" } } });
  expect(await news()).toEqual(["a"]);
  await change(Pod, "a", { spec: { activeDeadlineSeconds: 5 } });
  expect(await news()).toEqual([]);
  follower.forget(metadata.uid);
  await change(Pod, "a", { metadata: { annotations: { note: "2" } } });
  expect(await news()).toEqual([]);
});

test("a pod that is followed is looked at in any case, unless it is gone by then", async () => {
  const pod = await follow("a", config("c", true));
  follower.forget(pod.metadata.uid);
  follower.follow(pod);
  expect(await news()).toEqual(["a"]);
  follower.forget(pod.metadata.uid);
  follower.follow(pod);
  follower.forget(pod.metadata.uid);
  expect(await news()).toEqual([]);
});

test("watches end with the last pod that shows an object", async () => {
  await put(ConfigMap, "shared");
  const all = [await follow("a", config("shared")), await follow("b", config("shared"))];
  const scope = { namespace: "default", fieldSelector: "metadata.name=shared" };
  const isMirrored = () => {
    const share = place.manager.informers.acquire(ConfigMap, scope);
    const { length } = share.informer.list();
    share.release();
    return length > 0;
  };
  for (const { metadata } of all) {
    expect(isMirrored()).toBe(true);
    follower.forget(metadata.uid);
  }
  expect(isMirrored()).toBe(false);
});

test("what stands against a refresh is told, and asked for again only when something changes", async () => {
  refresh = async () => ['configmap "c" not found'];
  await follow("a", config("c"));
  expect(told).toEqual(['a: configmap "c" not found']);
  await clock.advance(120_000);
  expect(refreshed).toEqual([]);
});

test("a refresh that fails is tried again after a minute, or with the next change", async () => {
  await put(ConfigMap, "c");
  await follow("a", config("c"));
  refresh = () => Promise.reject(new Error("ENOSPC"));
  await change(ConfigMap, "c", { data: { value: "1" } });
  expect(await news()).toEqual(["a"]);
  await change(ConfigMap, "c", { data: { value: "2" } });
  expect(await news()).toEqual(["a"]);
  await clock.advance(50_000);
  refresh = async () => [];
  expect(refreshed).toEqual(["a"]);
  await clock.advance(120_000);
  expect(refreshed).toEqual(["a", "a"]);
});

test("a change while its pod is being refreshed asks for another refresh", async () => {
  await put(ConfigMap, "c");
  await follow("a", config("c"));
  const done = deferred<readonly string[]>();
  refresh = () => done.promise;
  await change(ConfigMap, "c", { data: { value: "1" } });
  expect(await news()).toEqual(["a"]);
  await change(ConfigMap, "c", { data: { value: "2" } });
  expect(await news()).toEqual([]);
  done.resolve([]);
  expect(await news()).toEqual(["a"]);
});
