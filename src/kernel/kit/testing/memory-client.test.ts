import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { ApiError, CustomResourceDefinition, isNotFound, Pod, type ResourceType } from "#kernel/model/index.ts";
import { describeApiClient } from "../client/client.contract.ts";
import { memoryClient } from "./memory-client.ts";

const widgets: ResourceType = {
  group: "demo.slipway.dev",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

describeApiClient("in memory", async () => {
  const client = memoryClient({ types: [widgets], namespaces: ["work"] });
  return {
    client,
    widgets,
    namespace: "work",
    compact: async () => client.compact(),
    close: () => client.close(),
  };
});

const pod = (spec: Record<string, unknown>) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "default" },
  spec,
});
const podRef = { type: Pod, namespace: "default", name: "p" };

test("a running pod stays until it is deleted with no grace left, and grace only shortens", async () => {
  const clock = new FakeClock(0);
  const client = memoryClient({ clock });
  await client.create(Pod, pod({ nodeName: "here", terminationGracePeriodSeconds: 20 }));
  await client.delete(podRef);
  const first = await client.get(podRef);
  expect(first.metadata).toMatchObject({ deletionGracePeriodSeconds: 20, deletionTimestamp: "1970-01-01T00:00:20Z" });
  await client.delete(podRef, { gracePeriodSeconds: 60 });
  expect(await client.get(podRef)).toEqual(first);
  await client.delete(podRef, { gracePeriodSeconds: 0 });
  await expect(client.get(podRef)).rejects.toSatisfy(isNotFound);
});

test("a pod that no node has goes at once", async () => {
  const client = memoryClient();
  await client.create(Pod, pod({}));
  await client.delete(podRef);
  await expect(client.get(podRef)).rejects.toSatisfy(isNotFound);
});

test("a kind is served from the moment its definition exists", async () => {
  const client = memoryClient();
  await expect(client.list(widgets)).rejects.toSatisfy(isNotFound);
  await client.create(CustomResourceDefinition, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.demo.slipway.dev" },
    spec: {
      group: "demo.slipway.dev",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets" },
      versions: [{ name: "v1", served: true, storage: true }],
    },
  });
  expect((await client.list(widgets)).items).toEqual([]);
});

test("dropped watches end normally", async () => {
  const client = memoryClient();
  const ended = (async () => {
    let count = 0;
    for await (const event of client.watch(Pod, { signal: new AbortController().signal })) count += event ? 1 : 0;
    return count;
  })();
  await client.create(Pod, pod({}));
  await new Promise((resolve) => setImmediate(resolve));
  client.dropWatches();
  expect(await ended).toBe(1);
});

test("history beyond its limit is forgotten, so that old watches get 410 instead of gaps", async () => {
  const client = memoryClient({ types: [widgets], historyLimit: 5 });
  const { metadata } = await client.list(widgets);
  const object = { apiVersion: "demo.slipway.dev/v1", kind: "Widget" };
  for (let index = 0; index < 20; index++)
    await client.create(widgets, { ...object, metadata: { name: `w${index}`, namespace: "default" } });
  const watch = client.watch(widgets, {
    resourceVersion: metadata.resourceVersion,
    signal: new AbortController().signal,
  });
  await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 410 });
});

test("what it does not do is refused by name", async () => {
  const client = memoryClient();
  await client.create(Pod, pod({}));
  const refusals = [
    client.patch(podRef, { type: "strategic", body: {} }),
    client.patch({ ...podRef, name: "new" }, { type: "apply", body: {} }, { fieldManager: "me" }),
    client.delete({ type: { ...Pod, kind: "Namespace", plural: "namespaces", namespaced: false }, name: "default" }),
    client.logs(podRef)[Symbol.asyncIterator]().next(),
  ];
  for (const refused of refusals) await expect(refused).rejects.toMatchObject({ reason: "NotImplemented" });
  await expect(refusals[0]).rejects.toBeInstanceOf(ApiError);
});

test("a closed client refuses and ends its watches", async () => {
  const client = memoryClient();
  const next = client.watch(Pod, { signal: new AbortController().signal })[Symbol.asyncIterator]().next();
  await client.close();
  expect((await next).done).toBe(true);
  await expect(client.list(Pod)).rejects.toMatchObject({ code: "client-closed" });
});
