import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LogFields, type Logger, systemClock } from "#lib/base/index.ts";
import { AuditLog } from "#kernel/apiserver/audit/audit-log.ts";
import { type Ask, startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";

// 47. Whatever is done with Secrets and tokens, well or badly, and however much is logged: their values stand in no log line, no audit
// line and no metric.

const written: string[] = [];
const note = (message: string, fields: LogFields = {}): void =>
  void written.push(
    message,
    JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? value.stack : value)),
  );
const log: Logger = { error: note, warn: note, info: note, debug: note, with: () => log };

let directory: string;
let audit: AuditLog;
let api: TestServer;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-secrets-"));
  audit = new AuditLog({ directory, clock: systemClock, log });
  api = await startTestServer({ audit, log });
});
afterAll(async () => {
  await api.close();
  await audit.close();
  await rm(directory, { recursive: true, force: true });
});

const value = "c3VwZXJzZWNyZXQtdmFsdWU=";
const plain = Buffer.from(value, "base64").toString();
const guess = "a-token-that-somebody-guessed";
const secrets = "/api/v1/namespaces/default/secrets";
const secret = (name: string, more: object) => ({ apiVersion: "v1", kind: "Secret", metadata: { name }, ...more });
const patch = (type: string, body: unknown): Ask => ({
  bytes: typeof body === "string" ? body : JSON.stringify(body),
  headers: { "Content-Type": `application/${type}` },
});

test("values of Secrets and tokens are only in answers to those who may have them", async () => {
  const asked: readonly (readonly [method: string, path: string, ask: Ask, status: number])[] = [
    ["POST", secrets, { body: secret("a", { data: { k: value } }) }, 201],
    ["POST", secrets, { body: secret("b", { stringData: { k: plain } }) }, 201],
    [
      "POST",
      secrets,
      patch("yaml", `apiVersion: v1\nkind: Secret\nmetadata: {name: c}\nstringData: {k: ${plain}}\n`),
      201,
    ],
    ["PUT", `${secrets}/a`, { body: secret("a", { data: { k: value, l: value } }) }, 200],
    ["PATCH", `${secrets}/a`, patch("merge-patch+json", { stringData: { m: plain } }), 200],
    ["PATCH", `${secrets}/a`, patch("json-patch+json", [{ op: "add", path: "/data/n", value }]), 200],
    ["PATCH", `${secrets}/a`, patch("strategic-merge-patch+json", { data: { o: value } }), 200],
    [
      "PATCH",
      `${secrets}/a?fieldManager=m&force=true`,
      patch("apply-patch+yaml", secret("a", { data: { p: value } })),
      200,
    ],
    // Refusals quote what was wrong; of a Secret they quote nothing.
    ["POST", secrets, { body: secret("d", { data: { k: `${plain}!` } }) }, 400],
    ["POST", secrets, { body: secret("A_b", { stringData: { k: plain } }) }, 422],
    ["POST", `${secrets}?fieldValidation=Strict`, { body: secret("e", { stringdata: { k: plain } }) }, 400],
    ["PATCH", `${secrets}/a`, patch("json-patch+json", [{ op: "test", path: "/data/k", value: `${value}x` }]), 422],
    ["POST", secrets, patch("json", `{"kind":"Secret","stringData":{"k":"${plain}`), 400],
    ["GET", `${secrets}/a`, {}, 200],
    ["GET", `${secrets}/a`, { token: guess }, 401],
    ["GET", `${secrets}?token=${guess}`, { token: false }, 401],
    ["DELETE", `${secrets}/b`, {}, 200],
  ];
  for (const [method, path, ask, status] of asked) {
    const answer = await api.ask(method, path, ask);
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(status);
  }
  const account = await api.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } },
  });
  expect(account.status).toBe(201);
  const made = await api.ask("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  });
  const token = String(made.json["status"]?.["token"]);
  expect(token.length).toBeGreaterThan(20);
  expect((await api.ask("GET", `${secrets}/a`, { token })).status).toBe(403);
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  expect((await api.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { body: review })).status).toBe(201);

  await audit.flush();
  const files = await Promise.all((await readdir(directory)).map((file) => readFile(join(directory, file), "utf8")));
  const audited = files.join("");
  expect(audited.trim().split("\n").length).toBeGreaterThanOrEqual(asked.length);
  const metrics = (await api.ask("GET", "/metrics")).text;
  expect(metrics).toContain('resource="secrets"');
  const lines = [audited, metrics, ...written].flatMap((text) => text.split("\n"));
  const isTelling = (line: string) => [value, plain, guess, token, api.token].some((hidden) => line.includes(hidden));
  expect(lines.filter(isTelling)).toEqual([]);
});
