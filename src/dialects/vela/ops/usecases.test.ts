import { expect, test } from "vitest";
import { ConfigMap, Secret } from "#kernel/model/index.ts";
import { clientWith, component, deployment, fakeApp, fakeScope, kindOf, replicasIn } from "./testing/fake-scope.ts";
import { runProgram } from "./exec.ts";
import { rollback } from "./rollback.ts";

const type = kindOf("core.oam.dev/v1beta1", "ApplicationRevision", "applicationrevisions");

async function shop() {
  const client = clientWith([type]);
  const revision = async (number: number, succeeded: boolean, replicas: number) => {
    const name = `shop-v${number}`;
    const metadata = { name, namespace: "default" };
    const stored = { apiVersion: "core.oam.dev/v1beta1", kind: "ApplicationRevision", metadata };
    await client.create(type, { ...stored, spec: { resourcesConfigMap: { name } } });
    await client.patch(
      { type, ...metadata },
      { type: "merge", body: { status: { succeeded } } },
      { subresource: "status" },
    );
    const workload = { ...deployment("web", replicas), metadata: { name: "web", namespace: "default" } };
    const password = { apiVersion: "v1", kind: "Secret", metadata: { name: "password", namespace: "default" } };
    const data = { web: JSON.stringify(workload), "web.x.y": JSON.stringify({ ...password, "x-in-secret": true }) };
    await client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data } as never);
    const kept = Buffer.from(JSON.stringify({ ...password, data: { p: "cA==" } })).toString("base64");
    await client.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data: { "web.x.y": kept } } as never);
  };
  await revision(2, true, 2);
  await revision(9, false, 9);
  await revision(10, true, 10);
  const scope = fakeScope(fakeApp([component("web", deployment("web", 1))], 11), { clients: { local: client } });
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

test("bad input: a revision that does not exist, and a first one", async () => {
  const { scope } = await shop();
  expect(await rollback({ revision: "shop-v7" }, scope)).toEqual({
    kind: "fail",
    message: 'revision "shop-v7" not found',
  });
  const first = fakeScope(fakeApp([]), { clients: { local: clientWith([type]) } });
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
