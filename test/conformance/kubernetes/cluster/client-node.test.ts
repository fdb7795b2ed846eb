import { once } from "node:events";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { within } from "#test/support/within.ts";
import { pod, widget, widgetDefinition } from "./cases/documents.ts";
import { type Api, openApi } from "./suite/api.ts";
import { type ClientNode, type KubeConfig, loadClientNode } from "./suite/client-node.ts";
import { openPlace, type Place } from "./suite/place.ts";

// What programs written with Kubernetes' own client for JavaScript do.

let k8s: ClientNode;
let config: KubeConfig;
let api: Api;
let place: Place;
let namespace: string;

beforeAll(async () => {
  k8s = await loadClientNode();
  config = new k8s.KubeConfig();
  config.loadFromFile(inject("kubeconfig"));
  api = await openApi(inject("kubeconfig"));
  place = await openPlace(api, inject("kubeconfig"));
  namespace = place.namespace;
});
afterAll(async () => {
  await place.close();
  api.close();
});

const inNamespace = (document: object) => JSON.parse(JSON.stringify(document).replaceAll("$NS", namespace)) as object;
const configMap = (name: string, data: object = {}, labels: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels },
  data,
});

test("29. KubernetesObjectApi creates, reads, lists, applies and deletes", async () => {
  const client = k8s.KubernetesObjectApi.makeApiClient(config);
  const created = await client.create(configMap("object", { k: "1" }));
  expect(created.metadata).toMatchObject({ name: "object", uid: expect.any(String) });
  const read = await client.read(configMap("object"));
  expect(read.data).toEqual({ k: "1" });
  const applied = await client.patch(
    configMap("object", { l: "1" }),
    undefined,
    undefined,
    "programs",
    true,
    k8s.PatchStrategy.ServerSideApply,
  );
  expect(applied.data).toEqual({ k: "1", l: "1" });
  const { items } = await client.list("v1", "ConfigMap", namespace);
  expect(items.map(({ metadata }) => metadata.name)).toContain("object");
  await client.delete(configMap("object"));
  await expect(client.read(configMap("object"))).rejects.toMatchObject({ code: 404 });
  await expect(client.create({ ...configMap("x"), kind: "Nonsense" })).rejects.toThrow(/Nonsense/);
});

test("29. CoreV1Api lists in pages and meets conflicts", async () => {
  const core = config.makeApiClient(k8s.CoreV1Api);
  for (const name of ["a", "b", "c"])
    await core["createNamespacedConfigMap"]?.({ namespace, body: configMap(name, {}, { set: "paged" }) });
  const seen: string[] = [];
  let _continue: unknown;
  do {
    const page = await core["listNamespacedConfigMap"]?.({
      namespace,
      labelSelector: "set=paged",
      limit: 2,
      _continue,
    });
    seen.push(...(page?.items ?? []).map(({ metadata }) => metadata.name));
    _continue = page?.metadata["_continue"];
  } while (_continue !== undefined && _continue !== "");
  expect(seen).toEqual(["a", "b", "c"]);
  const old = await core["readNamespacedConfigMap"]?.({ name: "a", namespace });
  await core["replaceNamespacedConfigMap"]?.({ name: "a", namespace, body: { ...old, data: { k: "1" } } });
  await expect(
    core["replaceNamespacedConfigMap"]?.({ name: "a", namespace, body: { ...old, data: { k: "2" } } }),
  ).rejects.toMatchObject({ code: 409 });
  const exists = core["createNamespacedConfigMap"]?.({ namespace, body: configMap("a") });
  await expect(exists).rejects.toMatchObject({ code: 409 });
});

test("29. CustomObjectsApi works with a kind that was just defined", async () => {
  // Its own model of schemas drops `default` and the extensions.
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  expect((await api.ask("POST", definitions, { body: inNamespace(widgetDefinition()) })).status).toBe(201);
  const kind = { group: `${namespace}.example.org`, version: "v1", namespace, plural: `widgets-${namespace}` };
  const custom = config.makeApiClient(k8s.CustomObjectsApi);
  const create = () =>
    custom["createNamespacedCustomObject"]?.({ ...kind, body: inNamespace(widget("w", { size: 2 })) });
  // A real cluster takes a moment to serve a new kind.
  await expect.poll(() => create()?.catch(() => undefined), { timeout: 30_000 }).toBeDefined();
  const list = await custom["listNamespacedCustomObject"]?.(kind);
  expect(list?.items).toMatchObject([{ metadata: { name: "w" }, spec: { size: 2, color: "red" } }]);
  await custom["deleteNamespacedCustomObject"]?.({ ...kind, name: "w" });
  await api.ask("DELETE", `${definitions}/${kind.plural}.${kind.group}`);
});

test("29. Watch shows changes as they come", async () => {
  const client = k8s.KubernetesObjectApi.makeApiClient(config);
  const seen: string[] = [];
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const watch = await new k8s.Watch(config).watch(
    path,
    { labelSelector: "set=watched" },
    (type, { data }) => seen.push(`${type} ${data?.["k"] ?? ""}`),
    () => undefined,
  );
  await client.create(configMap("watched", { k: "1" }, { set: "watched" }));
  await client.patch(
    configMap("watched", { k: "2" }, { set: "watched" }),
    undefined,
    undefined,
    "w",
    undefined,
    k8s.PatchStrategy.MergePatch,
  );
  await client.delete(configMap("watched"));
  await expect.poll(() => seen, { timeout: 30_000 }).toEqual(["ADDED 1", "MODIFIED 2", "DELETED 2"]);
  watch.abort();
});

test("29. an informer lists, follows and knows what is gone", async () => {
  const client = k8s.KubernetesObjectApi.makeApiClient(config);
  const core = config.makeApiClient(k8s.CoreV1Api);
  const labelSelector = "set=informed";
  await client.create(configMap("before", { k: "1" }, { set: "informed" }));
  const informer = k8s.makeInformer(
    config,
    `/api/v1/namespaces/${namespace}/configmaps`,
    () => core["listNamespacedConfigMap"]?.({ namespace, labelSelector }) ?? Promise.reject(new Error("no list")),
    labelSelector,
  );
  const seen: string[] = [];
  for (const event of ["add", "update", "delete"] as const)
    informer.on(event, ({ metadata }) => seen.push(`${event} ${metadata.name}`));
  await informer.start();
  await client.create(configMap("after", { k: "1" }, { set: "informed" }));
  await client.delete(configMap("before"));
  await expect.poll(() => seen, { timeout: 30_000 }).toEqual(["add before", "add after", "delete before"]);
  expect(informer.list(namespace).map(({ metadata }) => metadata.name)).toEqual(["after"]);
  await informer.stop();
});

test("29. Log follows a Pod to its end", async () => {
  const client = k8s.KubernetesObjectApi.makeApiClient(config);
  const talker = pod("talker", "for n in 1 2 3; do echo $n; sleep 0.1; done", {}, { namespace });
  await client.create(talker);
  const hasStarted = async () => {
    const { phase } = (await client.read(talker))["status"] as { readonly phase: string };
    return phase === "Running" || phase === "Succeeded";
  };
  await expect.poll(hasStarted, { timeout: 60_000 }).toBe(true);
  const stream = new PassThrough().setEncoding("utf8");
  let text = "";
  stream.on("data", (chunk: string) => (text += chunk));
  const ended = once(stream, "end");
  await new k8s.Log(config).log(namespace, "talker", "main", stream, { follow: true });
  await within(60_000, "the log ends", ended, () => text);
  expect(text).toBe("1\n2\n3\n");
});
