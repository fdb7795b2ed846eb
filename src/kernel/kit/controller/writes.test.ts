import { refTo } from "#kernel/kit/client/request-path.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import {
  ApiError,
  ConfigMap,
  CustomResourceDefinition,
  isConflict,
  isNotFound,
  type KubeObject,
  type Stored,
} from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { memoryClient, chaosClient } from "../testing/index.ts";
import { type Condition, conditionOf, isTrue, withCondition } from "./conditions.ts";
import { type CrdInstallOptions, installCrds } from "./crd-installer.ts";
import { waitFor } from "./wait-for.ts";
import {
  addFinalizer,
  adopt,
  createOrUpdate,
  ensureChild,
  ensureDeleted,
  getOrUndefined,
  orphan,
  patchStatus,
  removeFinalizer,
  retryOnConflict,
  withController,
} from "./writes.ts";

type Data = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const Widget = { group: "demo.slipway.dev", version: "v1", kind: "Widget", plural: "widgets", namespaced: true };
const finalizer = "slipway.dev/test";
const configMap = (name: string, data: Record<string, string> = {}): Data => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
});
const refOf = (name: string) => ({ type: ConfigMap, namespace: "default", name });

let client: ApiClient;
beforeEach(() => {
  client = memoryClient({ types: [Widget] });
});

describe("finalizers", () => {
  test("one is added once and removed once", async () => {
    const created = await client.create(ConfigMap, configMap("a"));
    const guarded = await addFinalizer(client, ConfigMap, created, finalizer);
    expect(guarded.metadata.finalizers).toEqual([finalizer]);
    expect(await addFinalizer(client, ConfigMap, guarded, finalizer)).toBe(guarded);
    const freed = await removeFinalizer(client, ConfigMap, guarded, finalizer);
    expect(freed.metadata.finalizers ?? []).toEqual([]);
    expect(await removeFinalizer(client, ConfigMap, freed, finalizer)).toBe(freed);
  });

  test("others stay, and a list read too early is a conflict instead of a loss", async () => {
    const created = await client.create(ConfigMap, configMap("a"));
    await addFinalizer(client, ConfigMap, created, "slipway.dev/other");
    await expect(addFinalizer(client, ConfigMap, created, finalizer)).rejects.toSatisfy(isConflict);
    const newest = await client.get(refOf("a"));
    const both = await addFinalizer(client, ConfigMap, newest, finalizer);
    expect(both.metadata.finalizers).toEqual(["slipway.dev/other", finalizer]);
    const one = await removeFinalizer(client, ConfigMap, both, finalizer);
    expect(one.metadata.finalizers).toEqual(["slipway.dev/other"]);
  });

  test("removing the last one of a deleted object lets it go; doing so again is no failure", async () => {
    const guarded = await addFinalizer(client, ConfigMap, await client.create(ConfigMap, configMap("a")), finalizer);
    await client.delete(refOf("a"));
    const terminating = await client.get(refOf("a"));
    await removeFinalizer(client, ConfigMap, terminating, finalizer);
    await expect(client.get(refOf("a"))).rejects.toSatisfy(isNotFound);
    expect(await removeFinalizer(client, ConfigMap, guarded, finalizer)).toBe(guarded);
  });
});

describe("owners and children", () => {
  test("an object gets one controller, and a second is refused by name", async () => {
    const owner = await client.create(ConfigMap, configMap("owner"));
    const other = await client.create(ConfigMap, configMap("other"));
    const owned = withController(configMap("child"), owner);
    expect(owned.metadata.ownerReferences).toMatchObject([{ uid: owner.metadata.uid, controller: true }]);
    expect(withController(owned, owner)).toBe(owned);
    expect(() => withController(owned, other)).toThrow(
      'ConfigMap "child" is controlled by ConfigMap "owner", not by ConfigMap "other"',
    );
  });

  test("a child is created once, found when it is there, and known as foreign when it is somebody else's", async () => {
    const owner = await client.create(ConfigMap, configMap("owner"));
    const other = await client.create(ConfigMap, configMap("other"));
    const ensure = (by: Stored) => ensureChild(client, ConfigMap, configMap("child"), by);
    const first = await ensure(owner);
    expect(first.outcome).toBe("created");
    expect(await ensure(owner)).toEqual({ object: first.object, outcome: "present" });
    expect(await ensure(other)).toEqual({ object: first.object, outcome: "foreign" });
  });

  test("another refusal than existing is passed on", async () => {
    const owner = await client.create(ConfigMap, configMap("owner"));
    await expect(ensureChild(client, ConfigMap, configMap("Bad_Name"), owner)).rejects.toBeInstanceOf(ApiError);
  });
});

describe("deletion", () => {
  test("deletes the object that was seen, and that it is gone already is no failure", async () => {
    const seen = await client.create(ConfigMap, configMap("a"));
    await ensureDeleted(client, ConfigMap, seen);
    await expect(client.get(refOf("a"))).rejects.toSatisfy(isNotFound);
    await ensureDeleted(client, ConfigMap, seen);
  });

  test("an object made later under the name stays, and so does a newer version when the version is asked for", async () => {
    const former = await client.create(ConfigMap, configMap("a"));
    await ensureDeleted(client, ConfigMap, former);
    const seen = await client.create(ConfigMap, configMap("a"));
    await ensureDeleted(client, ConfigMap, former);
    expect(await client.get(refOf("a"))).toEqual(seen);
    const newer = await client.update(ConfigMap, configMap("a", { v: "2" }));
    const { resourceVersion } = seen.metadata;
    await ensureDeleted(client, ConfigMap, seen, { preconditions: { resourceVersion } });
    expect(await client.get(refOf("a"))).toEqual(newer);
  });

  test("a refusal for another reason is passed on", async () => {
    const seen = await client.create(ConfigMap, configMap("a"));
    const refusing = chaosClient(client, { clock: systemClock, random: () => 0, faults: { tooMany: 1 } });
    await expect(ensureDeleted(refusing, ConfigMap, seen)).rejects.toMatchObject({ code: 429 });
    expect(await client.get(refOf("a"))).toEqual(seen);
  });
});

describe("adoption", () => {
  test("an object gets its controller, keeps other owners, and is let go without losing them", async () => {
    const owner = await client.create(ConfigMap, configMap("owner"));
    const friend = { apiVersion: "v1", kind: "ConfigMap", name: "friend", uid: "u-1" };
    const child = configMap("child");
    const made = await client.create(ConfigMap, {
      ...child,
      metadata: { ...child.metadata, ownerReferences: [friend] },
    });
    await adopt(client, ConfigMap, made, owner);
    const adopted = await client.get(refOf("child"));
    expect(adopted.metadata.ownerReferences).toMatchObject([friend, { uid: owner.metadata.uid, controller: true }]);
    await orphan(client, ConfigMap, adopted, owner);
    expect((await client.get(refOf("child"))).metadata.ownerReferences).toEqual([friend]);
  });

  test("of two who saw the same version one gets it", async () => {
    const [one, two] = [
      await client.create(ConfigMap, configMap("one")),
      await client.create(ConfigMap, configMap("two")),
    ];
    const child = await client.create(ConfigMap, configMap("child"));
    await adopt(client, ConfigMap, child, one);
    await expect(adopt(client, ConfigMap, child, two)).rejects.toSatisfy(isConflict);
    expect((await client.get(refOf("child"))).metadata.ownerReferences).toMatchObject([{ name: "one" }]);
  });

  test("an object that is gone needs no owner", async () => {
    const owner = await client.create(ConfigMap, configMap("owner"));
    const child = await client.create(ConfigMap, configMap("child"));
    await ensureDeleted(client, ConfigMap, child);
    await adopt(client, ConfigMap, child, owner);
    await orphan(client, ConfigMap, child, owner);
    await expect(client.get(refOf("child"))).rejects.toSatisfy(isNotFound);
  });
});

describe("create or update", () => {
  const options = { clock: systemClock };
  const counted = (present: Stored<Data> | undefined): Data =>
    present === undefined
      ? configMap("a", { count: "1" })
      : { ...present, data: { count: String(Number(present.data?.["count"] ?? 0) + 1) } };

  test("creates, updates and leaves alone", async () => {
    const first = await createOrUpdate(client, refOf("a"), counted, options);
    expect(first).toMatchObject({ outcome: "created", object: { data: { count: "1" } } });
    const second = await createOrUpdate(client, refOf("a"), counted, options);
    expect(second).toMatchObject({ outcome: "updated", object: { data: { count: "2" } } });
    const third = await createOrUpdate<Data>(client, refOf("a"), (present) => present ?? configMap("a"), options);
    expect(third).toEqual({ outcome: "unchanged", object: second.object });
  });

  test("parallel callers lose nothing", async () => {
    await Promise.all(Array.from({ length: 4 }, () => createOrUpdate(client, refOf("a"), counted, options)));
    expect((await client.get<Data>(refOf("a"))).data).toEqual({ count: "4" });
  });

  test("a conflict is tried five times, with growing pauses, and nothing else is", async () => {
    const clock = new FakeClock();
    const times: number[] = [];
    const conflicting = retryOnConflict({ clock }, async () => {
      times.push(clock.monotonic());
      throw new ApiError("Conflict", "changed");
    });
    conflicting.catch(() => undefined);
    await clock.advance(1000);
    await expect(conflicting).rejects.toSatisfy(isConflict);
    expect(times).toEqual([0, 10, 30, 70, 150]);
    let calls = 0;
    const failing = retryOnConflict({ clock }, async () => {
      calls++;
      throw new Error("other");
    });
    await expect(failing).rejects.toThrow("other");
    expect(calls).toBe(1);
  });

  test("what does not exist is undefined, every other refusal is thrown", async () => {
    expect(await getOrUndefined(client, refOf("none"))).toBeUndefined();
    const refusing = chaosClient(client, { clock: systemClock, random: () => 0, faults: { internal: 1 } });
    await expect(getOrUndefined(refusing, refOf("none"))).rejects.toBeInstanceOf(ApiError);
  });
});

describe("status", () => {
  test("only the difference is written, bound to what was read", async () => {
    const patches: unknown[] = [];
    const spying: ApiClient = {
      ...chaosClient(client, { clock: systemClock, random: () => 0, faults: {} }),
      patch: (ref, patch, options) => {
        patches.push(patch);
        return client.patch(ref, patch, options);
      },
    };
    const created = await client.create<KubeObject>(Widget, {
      apiVersion: "demo.slipway.dev/v1",
      kind: "Widget",
      metadata: { name: "w", namespace: "default" },
    });
    const first = await patchStatus(spying, Widget, created, { phase: "Running", steps: { a: "done" } });
    expect(first.status).toEqual({ phase: "Running", steps: { a: "done" } });
    const second = await patchStatus(spying, Widget, first, { phase: "Running", steps: { a: "done", b: "new" } });
    expect(patches[1]).toMatchObject({ body: { status: { steps: { b: "new" } } } });
    expect(await patchStatus(spying, Widget, second, second.status)).toBe(second);
    expect(patches).toHaveLength(2);
    await expect(patchStatus(spying, Widget, created, { phase: "Late" })).rejects.toSatisfy(isConflict);
  });

  test("a condition's transition time moves only with its status", () => {
    const ready = { type: "Ready", status: "True", reason: "Done", observedGeneration: 1 } as const;
    const one = withCondition([{ type: "Other", status: "False" }], ready, 0);
    expect(conditionOf(one, "Ready")).toEqual({ ...ready, lastTransitionTime: "1970-01-01T00:00:00Z" });
    expect(withCondition(one, ready, 9000)).toBe(one);
    const two = withCondition(one, { ...ready, observedGeneration: 2 }, 9000);
    expect(conditionOf(two, "Ready")).toMatchObject({
      observedGeneration: 2,
      lastTransitionTime: "1970-01-01T00:00:00Z",
    });
    const three = withCondition(two, { ...ready, status: "False" }, 9000);
    expect(conditionOf(three, "Ready")?.lastTransitionTime).toBe("1970-01-01T00:00:09Z");
    expect(three.map((condition: Condition) => condition.type)).toEqual(["Other", "Ready"]);
    expect([isTrue(two, "Ready"), isTrue(three, "Ready"), isTrue(undefined, "Ready")]).toEqual([true, false, false]);
  });
});

describe("waiting for a state", () => {
  const options = (clock: FakeClock, signal = new AbortController().signal) => ({
    clock,
    signal,
    timeout: 60_000,
    random: () => 0,
  });

  test("resolves with the first state that fits, present or future", async () => {
    const clock = new FakeClock();
    await client.create(ConfigMap, configMap("a", { v: "1" }));
    const present = await waitFor<Data>(client, refOf("a"), (object) => object?.data?.["v"] === "1", options(clock));
    expect(present?.data).toEqual({ v: "1" });
    const future = waitFor<Data>(client, refOf("a"), (object) => object?.data?.["v"] === "2", options(clock));
    await clock.advance(0);
    await client.create(ConfigMap, configMap("b", { v: "2" }));
    await client.update(ConfigMap, configMap("a", { v: "2" }));
    expect((await future)?.metadata.name).toBe("a");
  });

  test("waits for an object to be gone, also one that never was", async () => {
    const clock = new FakeClock();
    const isGone = (object: Stored | undefined) => object === undefined;
    expect(await waitFor(client, refOf("none"), isGone, options(clock))).toBeUndefined();
    await client.create(ConfigMap, configMap("a"));
    const gone = waitFor(client, refOf("a"), isGone, options(clock));
    await clock.advance(0);
    await client.delete(refOf("a"));
    expect(await gone).toBeUndefined();
  });

  test("gives up after its time or with its signal", async () => {
    const clock = new FakeClock();
    const late = waitFor(client, refOf("a"), () => false, options(clock));
    late.catch(() => undefined);
    await clock.advance(60_000);
    await expect(late).rejects.toMatchObject({ code: "wait-timeout" });
    const abort = new AbortController();
    const aborted = waitFor(client, refOf("a"), () => false, options(clock, abort.signal));
    abort.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
  });
});

test("who may not watch what is waited for is told at once what is missing", async () => {
  const refusal = new ApiError("Forbidden", 'User "me" cannot list resource "configmaps"');
  const refused = () => {
    throw refusal;
  };
  const blind = new Proxy(client, {
    get: (target, name) => (name === "list" || name === "watch" ? refused : (Reflect.get(target, name) as unknown)),
  });
  const { signal } = new AbortController();
  const patience = { clock: new FakeClock(), signal, timeout: 60_000, random: () => 0 };
  await expect(waitFor(blind, refOf("a"), () => false, patience)).rejects.toBe(refusal);
});

describe("installing definitions", () => {
  const crd = (versions: readonly string[], more: Record<string, unknown> = {}): KubeObject => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.demo.slipway.dev" },
    spec: {
      group: "demo.slipway.dev",
      scope: "Namespaced",
      names: { kind: "Gadget", plural: "gadgets" },
      versions: versions.map((name, index) => ({ name, served: true, storage: index === 0, ...more })),
    },
  });
  const ref = { type: CustomResourceDefinition, name: "gadgets.demo.slipway.dev" };
  const options = (more: Partial<CrdInstallOptions> = {}): CrdInstallOptions => ({
    clock: systemClock,
    log: silentLog,
    signal: new AbortController().signal,
    random: () => 0,
    ...more,
  });
  const install = async (definition: KubeObject, more: Partial<CrdInstallOptions> = {}) =>
    (await installCrds(client, [definition], options(more))).get("gadgets.demo.slipway.dev");

  test("a missing one is created, a present one updated or left alone", async () => {
    expect(await install(crd(["v1"]))).toBe("created");
    expect(await install(crd(["v1"]))).toBe("unchanged");
    expect(await install(crd(["v1", "v2"]))).toBe("updated");
    const stored = await client.get(ref);
    expect(stored.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "slipway" });
    expect(stored.spec).toMatchObject({ versions: [{ name: "v1" }, { name: "v2" }] });
  });

  test("what a server adds to the spec is no difference, what we dropped from a schema is", async () => {
    await install(crd(["v1"], { schema: { properties: { old: {}, kept: {} } } }));
    await client.patch(ref, { type: "merge", body: { spec: { conversion: { strategy: "None" } } } });
    expect(await install(crd(["v1"], { schema: { properties: { old: {}, kept: {} } } }))).toBe("unchanged");
    expect(await install(crd(["v1"], { schema: { properties: { kept: {} } } }))).toBe("updated");
    expect((await client.get(ref)).spec).toMatchObject({
      conversion: { strategy: "None" },
      versions: [{ schema: { properties: { kept: {} } } }],
    });
  });

  test("somebody else's is left alone with a warning, and replaced only when adopted", async () => {
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (message: string) => warnings.push(message) };
    await client.create(CustomResourceDefinition, crd(["v9"]));
    expect(await install(crd(["v1"]), { log })).toBe("foreign");
    expect((await client.get(ref)).spec).toMatchObject({ versions: [{ name: "v9" }] });
    expect(warnings).toEqual([expect.stringContaining("does not belong to Slipway")]);
    expect(await install(crd(["v1"]), { adopt: true })).toBe("updated");
    expect(await install(crd(["v1"]))).toBe("unchanged");
  });

  test("a definition that lacks the version objects are stored in is refused", async () => {
    await install(crd(["v2"]));
    await client.patch(ref, { type: "merge", body: { status: { storedVersions: ["v2"] } } }, { subresource: "status" });
    await expect(install(crd(["v1"]))).rejects.toMatchObject({ code: "crd-downgrade" });
  });
});

test("a reference is made from an object of either scope", () => {
  expect(refTo(ConfigMap, configMap("a"))).toEqual(refOf("a"));
  const cluster = { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } };
  expect(refTo({ ...ConfigMap, namespaced: false }, cluster)).not.toHaveProperty("namespace");
});
