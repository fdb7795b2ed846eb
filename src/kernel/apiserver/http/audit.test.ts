import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { createStaticToken } from "../authz/credential.ts";
import { configMap, startTestServer, type TestServer } from "../testing/index.ts";

let directory: string;
let api: TestServer;
let audit: AuditLog;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-audit-"));
  audit = new AuditLog({ directory, clock: systemClock, log: silentLog });
  api = await startTestServer({ audit });
});
afterAll(async () => {
  await api.close();
  await audit.close();
  await rm(directory, { recursive: true, force: true });
});

const text = async () => {
  await audit.flush();
  return readFile(join(directory, "audit.jsonl"), "utf8");
};
const last = async () => JSON.parse((await text()).trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
const maps = "/api/v1/namespaces/default/configmaps";

describe("the audit log", () => {
  test("has writes with what was sent, and reads", async () => {
    const answer = await api.ask("POST", `${maps}?dryRun=All`, { body: configMap("audited", { data: { k: "v" } }) });
    expect(await last()).toMatchObject({
      id: answer.headers["audit-id"],
      user: "slipway:admin",
      ip: expect.stringContaining("127.0.0.1"),
      verb: "create",
      resource: "configmaps",
      ns: "default",
      code: 201,
      dryRun: true,
      body: { metadata: { name: "audited" }, data: { k: "v" } },
    });
    // A deletion says it in its body, too, and a query may be encoded in other ways.
    const account = "/api/v1/namespaces/default/serviceaccounts/default";
    await api.ask("DELETE", account, { body: { dryRun: ["All"] } });
    expect(await last()).toMatchObject({ verb: "delete", code: 200, dryRun: true });
    await api.ask("DELETE", `${account}?dryRun=%41ll`);
    expect(await last()).toMatchObject({ verb: "delete", code: 200, dryRun: true });
    await api.ask("GET", `${maps}/none?x=dryRun=All`);
    expect(await last()).not.toHaveProperty("dryRun");
    await api.ask("GET", `${maps}/none`);
    expect(await last()).toMatchObject({ verb: "get", name: "none", code: 404 });
    await api.ask("GET", "/api");
    expect(await last()).toMatchObject({ verb: "get", path: "/api", code: 200 });
  });

  test("has refusals: who was not let in, and who may not", async () => {
    await api.ask("GET", maps, { token: "guess" });
    expect(await last()).toMatchObject({ verb: "get", path: maps, code: 401 });
    expect(await last()).not.toHaveProperty("user");
    const token = await createStaticToken(api.store, "ned", []);
    await api.ask("GET", maps, { token });
    expect(await last()).toMatchObject({ user: "ned", code: 403 });
    await api.ask("GET", maps, { headers: { "Impersonate-User": "ann" } });
    expect(await last()).toMatchObject({ user: "ann", by: "slipway:admin", code: 403 });
    await api.ask("GET", maps, { headers: { Host: "evil.example" } });
    expect(await last()).toMatchObject({ code: 421 });
  });

  test("has no health checks, or they would be all of it", async () => {
    await api.ask("GET", "/api");
    const before = await text();
    await api.ask("GET", "/readyz", { token: false });
    expect(await text()).toBe(before);
  });

  test("holds neither tokens nor values of Secrets, in whatever way they come", async () => {
    const secrets = "/api/v1/namespaces/default/secrets";
    const value = "c3VwZXItc2VjcmV0LXZhbHVl";
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { k: value } };
    await api.ask("POST", secrets, { body: secret });
    await api.ask("PUT", `${secrets}/s`, { body: { ...secret, stringData: { k: "super-secret-value" } } });
    const merge = { "Content-Type": "application/merge-patch+json" };
    await api.ask("PATCH", `${secrets}/s`, { bytes: JSON.stringify({ data: { k: value } }), headers: merge });
    const json = { "Content-Type": "application/json-patch+json" };
    const operations = [{ op: "replace", path: "/data/k", value }];
    await api.ask("PATCH", `${secrets}/s`, { bytes: JSON.stringify(operations), headers: json });
    const strategic = { "Content-Type": "application/strategic-merge-patch+json" };
    await api.ask("PATCH", `${secrets}/s`, { bytes: JSON.stringify({ stringData: { k: value } }), headers: strategic });
    const apply = { "Content-Type": "application/apply-patch+yaml" };
    const applied = `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {k: ${value}}}`;
    await api.ask("PATCH", `${secrets}/s?fieldManager=x&force=true`, { bytes: applied, headers: apply });
    // Refused, for each its own reason: what was sent is known all the same.
    await api.ask("POST", maps, { body: secret });
    await api.ask("POST", `${secrets}?fieldValidation=Strict`, { body: { ...secret, dataa: { k: value } } });
    await api.ask("POST", secrets, { bytes: `{"kind":"Secret","data":{"k":"${value}"`, headers: {} });
    await api.ask("GET", `/api?token=${api.token}`);
    const made = await api.ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    });
    const token = String(made.json["status"]?.["token"]);
    await api.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
    });
    const metrics = await api.ask("GET", "/metrics");
    const all = `${await text()}${metrics.text}`;
    expect(all).toContain('"resource":"secrets"');
    expect(all).toContain("slipway_apiserver_audit_dropped_total 0");
    for (const hidden of [value, "super-secret-value", api.token, token]) expect(all).not.toContain(hidden);
  });
});
