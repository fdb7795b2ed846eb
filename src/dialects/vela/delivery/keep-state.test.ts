import { expect, test } from "vitest";
import { objectsAt } from "#lib/base/index.ts";
import { actsForAnnotation, asJson, ConfigMap, type KubeObject, Secret } from "#kernel/model/index.ts";
import { ResourceTracker } from "../kinds.ts";
import { application, component, testDelivery, valueOf } from "../testing/fixtures.ts";
import { keepState } from "./keep-state.ts";

const local = { cluster: "local" };
const tracker = { type: ResourceTracker, name: "shop-v1-default" };

/** An application with one object, which is gone. */
async function applied(type: "config" | "secret") {
  const one = component("one", type, { properties: { color: "red" } });
  const made = testDelivery(application({ components: [one] }));
  const { workload } = valueOf(await made.delivery.render(one));
  valueOf(await made.delivery.apply([workload], local, "workflow"));
  await made.client.delete({ type: type === "secret" ? Secret : ConfigMap, namespace: "default", name: "one" });
  return { ...made, key: workload.key };
}

const login: KubeObject & { data: object } = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "one", namespace: "default" },
  data: { password: "aHVudGVyMg==" },
};

test("attack: the stored text of a Secret that is an object of another kind or name is not applied", async () => {
  const { next, client, key } = await applied("secret");
  for (const forged of [
    { ...login, kind: "ConfigMap" },
    { ...login, apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" },
    { ...login, metadata: { ...login.metadata, name: "other" } },
  ])
    expect(await keepState(next(), new Map([[key, forged]]))).toEqual({ restored: [], problems: [] });
  expect((await client.list(ConfigMap)).items).toEqual([]);
  expect((await client.list(Secret)).items).toEqual([]);
  expect(await keepState(next(), new Map([[key, login]]))).toMatchObject({ restored: ["Secret default/one"] });
});

test("attack: an entry of a tracker whose text is another object is not applied", async () => {
  const { next, client } = await applied("config");
  const stored = await client.get(tracker);
  const [entry] = objectsAt(asJson(stored), "spec", "managedResources");
  const spec = { managedResources: [{ ...entry, raw: asJson(login) }] };
  await client.patch(tracker, { type: "merge", body: { spec } });
  expect(await keepState(next())).toEqual({ restored: [], problems: [] });
  expect((await client.list(Secret)).items).toEqual([]);
});

test("attack: the content of objects in a tracker that another client wrote does not count, also after the next write", async () => {
  const { next, client, delivery } = await applied("config");
  const stored = await client.get(tracker);
  const [entry] = objectsAt(asJson(stored), "spec", "managedResources");
  const raw = { ...(entry?.["raw"] as object), data: { color: "forged" } };
  // As the server notes it.
  const annotations = { [actsForAnnotation]: JSON.stringify({ user: "eve", groups: [] }) };
  const body = { metadata: { annotations }, spec: { managedResources: [{ ...entry, raw }] } };
  await client.patch(tracker, { type: "merge", body });
  expect(await keepState(next())).toEqual({ restored: [], problems: [] });
  const two = component("two", "config", { properties: { color: "blue" } });
  valueOf(await next().apply([valueOf(await delivery.render(two)).workload], local, "workflow"));
  expect(JSON.stringify(await client.get(tracker))).not.toContain("forged");
  await keepState(next());
  expect((await client.list(ConfigMap)).items.map(({ metadata }) => metadata.name)).toEqual(["two"]);
});
