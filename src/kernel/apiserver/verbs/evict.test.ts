import { afterAll, beforeAll, expect, test } from "vitest";
import { pod, startTestServer, type TestServer } from "../testing/index.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const pods = "/api/v1/namespaces/default/pods";
const evict = (name: string, more: object = {}, query = "") =>
  api.ask("POST", `${pods}/${name}/eviction${query}`, {
    body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, ...more },
  });

/** A Pod that has a machine, so that it has something to end politely. */
async function running(name: string, finalizers: readonly string[] = []): Promise<string> {
  const { spec, ...more } = pod(name, { finalizers });
  const made = await api.ask("POST", pods, { body: { ...more, spec: { ...spec, nodeName: "here" } } });
  expect(made.status, made.text).toBe(201);
  return String(made.json["metadata"]?.["resourceVersion"]);
}

test("an eviction deletes the Pod gracefully and says in its status why it ends", async () => {
  await running("evicted");
  const answer = await evict("evicted", { deleteOptions: { gracePeriodSeconds: 7 } });
  expect([answer.status, answer.json["kind"], answer.json["status"]]).toEqual([201, "Status", "Success"]);
  const { metadata, status } = (await api.ask("GET", `${pods}/evicted`)).json;
  expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 7 });
  expect(status?.["conditions"]).toContainEqual(
    expect.objectContaining({ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }),
  );
});

test("a Pod that nothing holds is gone, and preconditions are those of the Pod as it was", async () => {
  const resourceVersion = await running("gone");
  const at = (revision: string) => ({
    deleteOptions: { gracePeriodSeconds: 0, preconditions: { resourceVersion: revision } },
  });
  expect((await evict("gone", at("1"))).status).toBe(409);
  expect((await evict("gone", at(resourceVersion))).status).toBe(201);
  expect((await api.ask("GET", `${pods}/gone`)).status).toBe(404);
  expect((await evict("gone")).status).toBe(404);
});

test("a dry run changes nothing", async () => {
  const resourceVersion = await running("kept");
  expect((await evict("kept", {}, "?dryRun=All")).status).toBe(201);
  expect((await evict("kept", { deleteOptions: { dryRun: ["All"] } })).status).toBe(201);
  expect((await api.ask("GET", `${pods}/kept`)).json["metadata"]).toMatchObject({ resourceVersion });
});

test("the older version is taken, and nothing else", async () => {
  await running("older");
  expect((await evict("older", { metadata: { name: "other" } })).status).toBe(400);
  expect((await evict("older", { kind: "Pod" })).status).toBe(400);
  expect((await evict("older", { apiVersion: "policy/v1beta1" })).status).toBe(201);
});
