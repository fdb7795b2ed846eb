import { beforeEach, expect, test } from "vitest";
import { type MemoryClient, memoryClient, chaosClient } from "#kernel/kit/testing/index.ts";
import { FakeClock } from "#lib/base/index.ts";
import { ConfigMap, type KubeObject, Pod, type Stored } from "#kernel/model/index.ts";
import { endChildren } from "./finalize.ts";

const signal = new AbortController().signal;
let client: MemoryClient;
beforeEach(() => {
  client = memoryClient({ clock: new FakeClock() });
});

const configMap = (name: string, finalizers: readonly string[] = []) =>
  client.create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", ...(finalizers.length === 0 ? {} : { finalizers }) },
  });
const names = async () =>
  (await client.list(ConfigMap, { namespace: "default" })).items.map((one) => one.metadata.name);

test("children are deleted, and looked at again after five seconds", async () => {
  const children = [await configMap("a"), await configMap("b")];
  await configMap("else");
  expect(await endChildren({ client, signal }, children)).toBe(5_000);
  expect(await names()).toEqual(["else"]);
});

test("a Pod gets the grace of a cancelled step", async () => {
  const pod = await client.create<KubeObject>(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default" },
    spec: { nodeName: "n", terminationGracePeriodSeconds: 300 },
  });
  await endChildren({ client, signal }, [pod]);
  const { metadata } = await client.get({ type: Pod, namespace: "default", name: "p" });
  expect(metadata.deletionGracePeriodSeconds).toBe(30);
});

test("one that is on its way out, gone, replaced or of a kind not served any more is left alone", async () => {
  const held = await configMap("held", ["example.com/hold"]);
  await client.delete({ type: ConfigMap, namespace: "default", name: "held" });
  const going = await client.get({ type: ConfigMap, namespace: "default", name: "held" });
  const former = await configMap("replaced");
  await client.delete({ type: ConfigMap, namespace: "default", name: "replaced" });
  const again = await configMap("replaced");
  const strange: Stored = { ...held, apiVersion: "example.com/v1", kind: "Thing" };
  await endChildren({ client, signal }, [going, former, strange]);
  expect(await client.get({ type: ConfigMap, namespace: "default", name: "held" })).toEqual(going);
  expect(await client.get({ type: ConfigMap, namespace: "default", name: "replaced" })).toEqual(again);
});

test("a refusal names the child it is about", async () => {
  const child = await configMap("a");
  const refusing = chaosClient(client, { clock: new FakeClock(), random: () => 0, faults: { tooMany: 1 } });
  await expect(endChildren({ client: refusing, signal }, [child])).rejects.toThrow(/^ConfigMap "a": /);
});
