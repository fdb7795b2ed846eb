import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import {
  ConfigMap,
  isConflict,
  isInvalid,
  type KubeObject,
  Pod,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { configMap, pod, waitUntil, widget, widgetDefinition } from "../testing/index.ts";

type Widget = KubeObject & { readonly spec?: object; readonly status?: object };

let store: Store;
let server: ApiServer;
let client: ApiClient;
let widgets: ResourceType;
beforeEach(async () => {
  store = memoryStore();
  server = await createApiServer({ store, clock: new FakeClock(), log: silentLog, version: "test" });
  client = server.client();
  const definition = await client.resourceType("apiextensions.k8s.io/v1", "CustomResourceDefinition");
  if (definition === undefined) throw new Error("definitions are not served");
  await client.create(definition, widgetDefinition);
  let served: ResourceType | undefined;
  await waitUntil(async () => (served = await client.resourceType("demo.example.org/v1", "Widget")) !== undefined);
  if (served === undefined) throw new Error("widgets are not served");
  widgets = served;
});
afterEach(async () => {
  await server.close();
  await store.close();
});

const whole = <T extends KubeObject>(type: ResourceType, object: T): Promise<Stored<T>> => {
  if (client.updateWhole === undefined) throw new Error("this client writes objects whole");
  return client.updateWhole<T>(type, object);
};
const create = (name: string, fieldManager?: string): Promise<Stored<Widget>> =>
  client.create<Widget>(
    widgets,
    widget(name, {}, { namespace: "default" }),
    fieldManager === undefined ? {} : { fieldManager },
  );
const held = (object: Stored<Widget>): Stored<Widget> => ({
  ...object,
  metadata: { ...object.metadata, finalizers: ["example.com/held"] },
});
/** What differs between two objects whatever is done to them. */
const alike = ({ metadata: { name: _n, uid: _u, resourceVersion: _r, ...metadata }, ...object }: Stored) => ({
  ...object,
  metadata,
});

describe("an object and its status in one write", () => {
  test.each([undefined, "kubectl"])("are what two writes would make of them, created by %s", async (manager) => {
    const status = { phase: "Ready" };
    const first = await client.update<Widget>(widgets, held(await create("two", manager)));
    const two = await client.updateStatus<Widget>(widgets, { ...first, status });
    const one = await whole<Widget>(widgets, { ...held(await create("one", manager)), status });
    expect(alike(one)).toEqual(alike(two));
    expect(one).toMatchObject({ status, metadata: { generation: 1, finalizers: ["example.com/held"] } });
  });

  test("are one revision, of which nobody sees a half", async () => {
    const created = await create("a");
    const { revision } = store;
    await whole(widgets, { ...held(created), status: { phase: "Ready" } });
    expect(store.revision).toBe(revision + 1);
  });

  test("are refused like other writes: what is not the newest, and what the schema forbids", async () => {
    const created = await create("a");
    await whole(widgets, { ...held(created), status: { phase: "Ready" } });
    await expect(whole(widgets, { ...created, status: {} })).rejects.toSatisfy(isConflict);
    const newest = await client.get<Widget>({ type: widgets, namespace: "default", name: "a" });
    await expect(whole(widgets, { ...newest, status: "text" as unknown as object })).rejects.toSatisfy(isInvalid);
    expect(await client.get({ type: widgets, namespace: "default", name: "a" })).toEqual(newest);
  });

  test("of a built-in kind keep the rules of both", async () => {
    const made = await client.create<Widget>(Pod, pod("p", { namespace: "default" }));
    const changed = { ...held(made), status: { ...made.status, phase: "Running" } };
    expect(await whole(Pod, changed)).toMatchObject({
      status: { phase: "Running" },
      metadata: { finalizers: ["example.com/held"] },
    });
    const config = await client.create(ConfigMap, configMap("c", {}, { namespace: "default" }));
    await expect(whole(ConfigMap, config)).rejects.toMatchObject({ reason: "NotFound" });
  });
});
