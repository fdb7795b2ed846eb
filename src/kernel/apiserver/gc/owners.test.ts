import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import {
  ConfigMap,
  CoreEvent,
  type KubeObject,
  Namespace,
  type OwnerReference,
  type Stored,
} from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { configMap, waitUntil } from "../testing/index.ts";

let clock: FakeClock;
let store: Store;
let server: ApiServer;
let client: ApiClient;
beforeEach(async () => {
  clock = new FakeClock();
  store = memoryStore({ clock });
  await start();
});
afterEach(async () => {
  await server.close();
  await store.close();
});
async function start(): Promise<void> {
  server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0" });
  client = server.client();
}

const reference = ({ apiVersion, kind, metadata }: Stored, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  ...more,
});
const create = (name: string, owners: readonly OwnerReference[] = [], namespace = "default") =>
  client.create(
    ConfigMap,
    configMap(name, {}, { namespace, ...(owners.length === 0 ? {} : { ownerReferences: owners }) }),
  );
const ref = (name: string, namespace = "default") => ({ type: ConfigMap, namespace, name });
const exists = (name: string, namespace = "default") =>
  store.get({ group: "", resource: "configmaps", namespace, name }) !== undefined;
const settled = () => waitUntil(() => server.settled);
type Told = KubeObject & {
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly uid?: string };
};
const told = async (namespace = "default") => (await client.list<Told>(CoreEvent, { namespace })).items;

describe("an owner that may not own", () => {
  test.each([
    ["is short", "held"],
    ["is cut after a dash", `${"x".repeat(49)}-${"y".repeat(20)}`],
    ["is cut after a dot", `${"x".repeat(49)}.${"y".repeat(20)}`],
    ["is as long as may be", "x".repeat(253)],
  ])("is told by an Event when the name of what it owns %s", async (_what, name) => {
    const far = await create("far", [], "kube-public");
    const owned = await create(name, [reference(far)]);
    await settled();
    const [event, ...others] = await told();
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef with uid ${far.metadata.uid} does not exist in namespace "default"`,
      involvedObject: { uid: owned.metadata.uid },
    });
    expect(exists(name)).toBe(true);
  });

  test("keeps what it may not own even when its other owners are gone", async () => {
    const far = await create("far", [], "kube-public");
    const near = await create("near");
    await create("held", [reference(far), reference(near)]);
    await client.delete(ref("near"));
    await settled();
    expect(exists("held")).toBe(true);
    await client.delete(ref("far", "kube-public"));
    await waitUntil(() => !exists("held"));
  });

  test("in a namespace that is going away is no trouble", async () => {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
    const far = await create("far");
    const blocker = configMap("blocker", {}, { namespace: "team", finalizers: ["example.org/wait"] });
    await client.create(ConfigMap, blocker);
    await client.create(ConfigMap, configMap("held", {}, { namespace: "team", finalizers: ["example.org/wait"] }));
    await client.delete({ type: Namespace, name: "team" });
    await waitUntil(async () => (await client.get(ref("held", "team"))).metadata.deletionTimestamp !== undefined);
    const body = { metadata: { ownerReferences: [{ ...reference(far) }] } };
    await client.patch(ref("held", "team"), { type: "merge", body });
    await settled();
    expect(await told("team")).toEqual([]);
  });
});

describe("references", () => {
  test("that are dropped leave the others in their order, and all else alone", async () => {
    const [a, b, c, d] = [await create("a"), await create("b"), await create("c"), await create("d")];
    const owners = [
      reference(d),
      reference(a, { controller: true }),
      reference(b),
      reference(c, { blockOwnerDeletion: true }),
    ];
    const before = await create("owned", owners);
    await client.delete(ref("a"));
    await client.delete(ref("b"));
    await waitUntil(async () => (await client.get(ref("owned"))).metadata.ownerReferences?.length === 2);
    const after = await client.get(ref("owned"));
    expect(after.metadata.ownerReferences).toEqual([owners[0], owners[3]]);
    expect(after.metadata.uid).toBe(before.metadata.uid);
  });

  test("that are added to an object later are judged then", async () => {
    const root = await create("root");
    await client.delete(ref("root"));
    await create("late");
    await client.patch(ref("late"), {
      type: "merge",
      body: { metadata: { ownerReferences: [{ ...reference(root) }] } },
    });
    await waitUntil(() => !exists("late"));
  });

  test("that are taken away in time keep the object", async () => {
    const root = await create("root");
    await create("freed", [reference(root)]);
    await client.patch(ref("freed"), { type: "merge", body: { metadata: { ownerReferences: null } } });
    await client.delete(ref("root"));
    await settled();
    expect(exists("freed")).toBe(true);
  });

  test("of an object that is being deleted are left alone", async () => {
    const root = await create("root");
    const metadata = { namespace: "default", ownerReferences: [reference(root)], finalizers: ["example.org/wait"] };
    await client.create(ConfigMap, configMap("going", {}, metadata));
    await client.delete(ref("going"));
    const { resourceVersion } = (await client.get(ref("going"))).metadata;
    await client.delete(ref("root"));
    await settled();
    expect((await client.get(ref("going"))).metadata.resourceVersion).toBe(resourceVersion);
  });

  test("to an owner that was removed while nobody watched count as gone, over many objects", async () => {
    const root = await create("root");
    await Promise.all(Array.from({ length: 1100 }, (_, at) => create(`c${at}`, [reference(root)])));
    await server.close();
    await store.write(
      (transaction) =>
        void transaction.remove({ group: "", resource: "configmaps", namespace: "default", name: "root" }),
    );
    await start();
    await waitUntil(() => store.count({ group: "", resource: "configmaps" }, "default") === 0);
  });
});

test("what is left is exactly what an owner or nobody holds, whatever is deleted in whatever order", async () => {
  const size = 7;
  let runs = 0;
  /** For each object the earlier ones that own it. */
  const forest = fc.tuple(
    ...Array.from({ length: size }, (_, at) =>
      fc.subarray(
        Array.from({ length: at }, (_none, index) => index),
        { maxLength: Math.min(2, at) },
      ),
    ),
  );
  await fc.assert(
    fc.asyncProperty(forest, fc.subarray(Array.from({ length: size }, (_, at) => at)), async (owners, deleted) => {
      const run = `r${(runs += 1)}-`;
      const made: Stored[] = [];
      for (const [at, mine] of owners.entries())
        made.push(
          await create(
            `${run}${at}`,
            mine.flatMap((owner) => (made[owner] === undefined ? [] : [reference(made[owner])])),
          ),
        );
      await Promise.all(deleted.map((at) => client.delete(ref(`${run}${at}`)).catch(() => undefined)));
      await settled();
      const left = new Set<number>();
      for (const [at, mine] of owners.entries())
        if (!deleted.includes(at) && (mine.length === 0 || mine.some((owner) => left.has(owner)))) left.add(at);
      const found = Array.from({ length: size }, (_, at) => at).filter((at) => exists(`${run}${at}`));
      expect(found).toEqual([...left]);
      for (const at of left) {
        const { ownerReferences = [] } = (await client.get(ref(`${run}${at}`))).metadata;
        expect(ownerReferences).toHaveLength(owners[at]?.filter((owner) => left.has(owner)).length ?? 0);
      }
    }),
    { numRuns: 25 },
  );
});
