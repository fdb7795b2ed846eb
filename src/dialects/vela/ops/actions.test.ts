import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { providerOf } from "./find.ts";
import { providers } from "./index.ts";
import { clientWith, fakeScope, fakeApp } from "./testing/fake-scope.ts";

const call = async (name: string, value: JsonObject, client = clientWith()) => {
  const [provider = "", action = ""] = name.split("/");
  const found = providerOf(providers, provider, action);
  if (!found.ok) throw new Error(found.error);
  return found.value(value, fakeScope(fakeApp([]), { clients: { local: client } }));
};

test("times have Go's layouts", async () => {
  expect(await call("time/timestamp", { $params: { date: "2026-01-02T03:04:05Z", layout: "" } })).toEqual({
    kind: "continue",
    result: { $returns: { timestamp: 1_767_323_045 } },
  });
  const layout = "Mon Jan 02 15:04:05 2006";
  expect(await call("op/date", { timestamp: 1_767_323_045, layout })).toEqual({
    kind: "continue",
    result: { date: "Fri Jan 02 03:04:05 2026" },
  });
  expect(await call("op/timestamp", { date: "Fri Jan 02 03:04:05 2026", layout })).toMatchObject({
    result: { timestamp: 1_767_323_045 },
  });
  expect(await call("op/timestamp", { date: "yesterday" })).toMatchObject({ kind: "error" });
});

test("a config is a Secret whose content is sensitive", async () => {
  const client = clientWith();
  const params = { name: "db", namespace: "default", template: "vela-system/mysql", config: { password: "pw" } };
  expect(await call("config/create", { $params: params }, client)).toEqual({ kind: "continue" });
  expect(await call("op/read-config", { name: "db", namespace: "default" }, client)).toEqual({
    kind: "continue",
    result: { config: { password: "pw" } },
    isSensitive: true,
  });
  expect(await call("config/list", { $params: { template: "mysql", namespace: "default" } }, client)).toMatchObject({
    result: { $returns: { configs: [{ name: "db", config: { password: "pw" } }] } },
    isSensitive: true,
  });
  await call("config/delete", { $params: { name: "db", namespace: "default" } }, client);
  expect(await call("op/read-config", { name: "db", namespace: "default" }, client)).toMatchObject({ kind: "error" });
});

test("a read that fails is not fatal; the proposal's form waits for the object", async () => {
  const value = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
  expect(await call("kube/read", { $params: { value } })).toMatchObject({
    kind: "continue",
    result: { $returns: { err: expect.stringContaining("not found") } },
  });
  const seed = { apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "default" };
  expect(await call("op/read", seed)).toEqual({ kind: "wait", message: "waiting for ConfigMap default/a" });
  const client = clientWith();
  await client.create(
    { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
    { ...value, metadata: { name: "a", namespace: "default" } },
  );
  expect(await call("op/read", seed, client)).toMatchObject({ result: { result: value, metadata: { name: "a" } } });
});

test("bad input: a list instead of an object, an object without a kind, an unknown kind", async () => {
  expect(await call("kube/apply", { $params: { value: [] } })).toEqual({
    kind: "error",
    message: "value: expected object",
  });
  expect(await call("op/apply", { value: { apiVersion: "v1" } })).toEqual({
    kind: "error",
    message: "value: kind is missing",
  });
  expect(await call("kube/read", { $params: { value: { apiVersion: "a/v1", kind: "B" } } })).toMatchObject({
    result: { $returns: { err: "no kind B in version a/v1" } },
  });
});

test("bad input: a Secret without the key of a header is named, its values are not", async () => {
  const client = clientWith();
  const secrets = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };
  const { namespace } = fakeApp([]).identity;
  const data = { other: Buffer.from("hidden").toString("base64") };
  await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace }, data });
  const headersFromSecret = [{ header: "Authorization", secret: "s", key: "token" }];
  expect(await call("http/do", { $params: { url: "http://a.test", request: { headersFromSecret } } }, client)).toEqual({
    kind: "error",
    message: `key "token" not found in secret "${namespace}/s"`,
  });
});
