import { beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { eventRecorder } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Event, Pod, Secret, type Stored } from "#kernel/model/index.ts";
import type { Container, PodObject, PodSpec } from "../pod-types.ts";
import { type FakeContainerHost, fakeContainerHost } from "../testing/fake-container-host.ts";
import { ImageKeeper } from "./image-keeper.ts";
import { PodNotes } from "./pod-notes.ts";

let clock: FakeClock;
let client: MemoryClient;
let host: FakeContainerHost;
let keeper: ImageKeeper;
/** Times, in seconds from the beginning, at which the pod was asked to be looked at again. */
let woken: number[];

beforeEach(() => {
  clock = new FakeClock(0);
  client = memoryClient({ clock });
  host = fakeContainerHost();
  woken = [];
  const events = eventRecorder({ client, clock, log: silentLog, controller: "slipway.dev/test", instance: "here" });
  keeper = new ImageKeeper({
    host,
    client,
    notes: new PodNotes(events),
    clock,
    wake: () => void woken.push(clock.now() / 1000),
  });
});

const facts = { id: "sha256:1", digest: "app@sha256:1", user: "" };

const podWith = (spec: Partial<PodSpec> = {}): Promise<Stored<PodObject>> =>
  client.create<PodObject>(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default" },
    spec: { containers: [{ name: "main", image: "app:1" }], ...spec },
  });

const container = (more: Partial<Container> = {}): Container => ({ name: "main", image: "app:1", ...more });

/** Facts of the image, or the reason for which there are none. */
async function find(pod: Stored<PodObject>, given: Container, task = "t0") {
  const found = await keeper.find(pod, given, task);
  return found.ok ? found.value : found.error.reason;
}

const told = async () => {
  await clock.advance(1);
  const { items } = await client.list(Event, { namespace: "default" });
  return items.map((event) => String(Reflect.get(event, "note")));
};

test.each([
  ["app:1", undefined, "here", "used"],
  ["app:1", undefined, "away", "pulled"],
  ["app", undefined, "here", "pulled"],
  ["app:latest", undefined, "here", "pulled"],
  ["registry:5000/app", undefined, "here", "pulled"],
  ["app@sha256:abc", undefined, "here", "used"],
  ["app:1", "Always", "here", "pulled"],
  ["app", "IfNotPresent", "here", "used"],
  ["app:1", "Never", "here", "used"],
  ["app:1", "Never", "away", "refused"],
] as const)("an image %s with policy %s that is %s is %s", async (image, imagePullPolicy, where, outcome) => {
  const pod = await podWith();
  if (where === "here") host.images.set(image, facts);
  const found = await find(pod, container({ image, ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }) }));
  await clock.advance(0);
  expect(found).toEqual({ used: facts, pulled: "ContainerCreating", refused: "ErrImageNeverPull" }[outcome]);
  expect(host.pulls.map((pull) => pull.image)).toEqual(outcome === "pulled" ? [image] : []);
});

test("one pull at a time, after which the pod is looked at and the image is there", async () => {
  const pod = await podWith();
  expect(await find(pod, container())).toBe("ContainerCreating");
  expect(await find(pod, container())).toBe("ContainerCreating");
  await clock.advance(2_000);
  expect(host.pulls).toHaveLength(1);
  host.pulls[0]?.succeed(facts);
  await clock.advance(0);
  expect(woken).toEqual([2]);
  expect(await find(pod, container())).toEqual(facts);
  expect(keeper.digestOf(pod.metadata.uid, "main")).toBe("app@sha256:1");
  expect(await told()).toEqual(['Pulling image "app:1"', 'Successfully pulled image "app:1" in 2000ms']);
});

test("with policy Always each execution pulls once", async () => {
  const pod = await podWith();
  const always = container({ imagePullPolicy: "Always" });
  for (const [task, pulls] of [
    ["t0", 1],
    ["t1", 2],
  ] as const) {
    await find(pod, always, task);
    await clock.advance(0);
    host.pulls.at(-1)?.succeed(facts);
    await clock.advance(0);
    expect(await find(pod, always, task)).toEqual(facts);
    expect(host.pulls).toHaveLength(pulls);
  }
});

test("a pull that fails is tried again after 10, 20, 40 s, and is a back-off from its second second on", async () => {
  const pod = await podWith();
  const fail = async () => {
    await find(pod, container());
    await clock.advance(0);
    host.pulls.at(-1)?.fail("no such image");
    await clock.advance(0);
  };
  for (const [number, pause] of [10, 20, 40].entries()) {
    await fail();
    expect(host.pulls).toHaveLength(number + 1);
    expect(await keeper.find(pod, container(), "t0")).toEqual({
      ok: false,
      error: { reason: "ErrImagePull", message: "no such image" },
    });
    await clock.advance(1_000);
    expect(await keeper.find(pod, container(), "t0")).toEqual({
      ok: false,
      error: { reason: "ImagePullBackOff", message: 'Back-off pulling image "app:1": no such image' },
    });
    await clock.advance(pause * 1000 - 1_001);
    expect(await find(pod, container())).toBe("ImagePullBackOff");
    expect(host.pulls).toHaveLength(number + 1);
    await clock.advance(1);
  }
  // Each failure wakes at once, when it is called a back-off, and when the next try is due.
  expect(woken).toEqual([0, 1, 10, 10, 11, 30, 30, 31, 70]);
});

test("a success ends the back-off: the next failure begins anew", async () => {
  const pod = await podWith();
  await find(pod, container());
  await clock.advance(0);
  host.pulls[0]?.fail("gone");
  await clock.advance(10_000);
  await find(pod, container());
  await clock.advance(0);
  host.pulls[1]?.succeed(facts);
  await clock.advance(0);
  await find(pod, container(), "t1");
  await clock.advance(0);
  host.pulls[2]?.fail("gone");
  await clock.advance(10_000);
  await find(pod, container(), "t1");
  await clock.advance(0);
  expect(host.pulls).toHaveLength(4);
});

test("logins are those of the pod's Secrets, and a Secret that is missing is done without", async () => {
  const config = (username: string) =>
    Buffer.from(JSON.stringify({ auths: { "r.example": { username, password: "x" } } })).toString("base64");
  const secret = (name: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "default" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": config(`user-of-${name}`) },
  });
  await client.create(Secret, secret("own"));
  await client.create(Secret, secret("other"));
  const pod = await podWith({ imagePullSecrets: [{ name: "own" }, { name: "missing" }, {}, { name: "other" }] });
  await find(pod, container({ image: "r.example/app:1" }));
  await clock.advance(0);
  expect(host.pulls[0]?.logins.map(({ username }) => username)).toEqual(["user-of-own", "user-of-other"]);
});

test("what is forgotten is asked for anew", async () => {
  const pod = await podWith();
  host.images.set("app:1", facts);
  await find(pod, container());
  keeper.forget(pod.metadata.uid);
  expect(keeper.digestOf(pod.metadata.uid, "main")).toBeUndefined();
  host.images.clear();
  expect(await find(pod, container())).toBe("ContainerCreating");
});

test("closing ends pulls and timers; nobody is woken any more", async () => {
  const pod = await podWith();
  await find(pod, container());
  await clock.advance(0);
  host.pulls[0]?.fail("gone");
  await clock.advance(0);
  await clock.advance(10_000);
  await find(pod, container());
  await clock.advance(0);
  const before = woken.length;
  keeper.close();
  await clock.advance(600_000);
  expect(woken).toHaveLength(before);
});
