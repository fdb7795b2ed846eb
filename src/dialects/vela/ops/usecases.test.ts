import { expect, test } from "vitest";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { ConfigMap, type KubeObject, Secret } from "#kernel/model/index.ts";
import type { RenderedObject } from "../render/rendered.ts";
import {
  clientWith,
  component,
  deployment,
  fakeApp,
  fakeScope,
  replicasIn,
  storeRevision,
} from "./testing/fake-scope.ts";
import { runProgram } from "./exec.ts";
import { rollback } from "./rollback.ts";

const rendered = (key: string, object: KubeObject): RenderedObject => ({
  key,
  role: "WORKLOAD",
  component: "web",
  object: { ...object, metadata: { ...object.metadata, namespace: "default" } },
});
const password = { apiVersion: "v1", kind: "Secret", metadata: { name: "password" }, data: { p: "cA==" } };
const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "1" } };

async function shop() {
  const client = clientWith();
  const scope = fakeScope(fakeApp([component("web", deployment("web", 1))], 11), { clients: { local: client } });
  const web = (replicas: number) => rendered("web", deployment("web", replicas) as unknown as KubeObject);
  await storeRevision(scope, 2, [web(2), rendered("web.x.y", password)]);
  await storeRevision(scope, 9, [web(9)], false);
  await storeRevision(scope, 10, [web(10), rendered("web.x.y", password)]);
  await storeRevision(scope, 11, [web(1), rendered("web.x.new", settings)], false);
  return { client, scope };
}

test("17.15 14.6 a rollback applies the objects of the latest revision that succeeded, Secrets included", async () => {
  const { client, scope } = await shop();
  expect(await rollback({}, scope)).toEqual({ kind: "continue", result: { $returns: { revision: "shop-v10" } } });
  expect(await replicasIn(client)).toEqual({ web: 10 });
  expect(scope.said).toEqual(["rolled back to shop-v10"]);
  expect(await client.get({ type: Secret, namespace: "default", name: "password" })).toMatchObject({
    data: { p: "cA==" },
  });
  await rollback({ $params: { revision: "shop-v2" } }, scope);
  expect(await replicasIn(client)).toEqual({ web: 2 });
});

test("17.15 14.6 a rollback removes what only the later revision has", async () => {
  const { client, scope } = await shop();
  const place = { type: ConfigMap, namespace: "default", name: "settings" };
  await client.create(ConfigMap, { ...settings, metadata: { name: "settings", namespace: "default" } });
  await rollback({}, scope);
  expect(await getOrUndefined(client, place)).toBeUndefined();
});

test("bad input: a revision that does not exist, and a first one", async () => {
  const { scope } = await shop();
  expect(await rollback({ revision: "shop-v7" }, scope)).toEqual({
    kind: "fail",
    message: 'revision "shop-v7" not found',
  });
  const first = fakeScope(fakeApp([]), { clients: { local: clientWith() } });
  expect(await rollback({}, first)).toEqual({ kind: "fail", message: "there is no earlier revision that succeeded" });
});

test("programs are not run unless the server allows it, and then once", async () => {
  const { scope } = await shop();
  const asked: unknown[] = [];
  const once: typeof scope.once = (request) => {
    asked.push(request);
    return Promise.resolve({ kind: "continue", result: { exitCode: 0 } });
  };
  const parts = { templates: { renderChart: () => Promise.reject(new Error("no")) }, directory: "/", environment: {} };
  const input = { $params: { command: ["echo", "hi"], timeout: "10s" } };
  expect(await runProgram(parts)(input, { ...scope, once })).toMatchObject({ kind: "fail" });
  expect(asked).toEqual([]);
  expect(await runProgram({ ...parts, allowExec: true })(input, { ...scope, once })).toEqual({
    kind: "continue",
    result: { $returns: { exitCode: 0 } },
  });
  expect(asked).toEqual([{ kind: "command", argv: ["echo", "hi"], timeoutMs: 10_000 }]);
});
