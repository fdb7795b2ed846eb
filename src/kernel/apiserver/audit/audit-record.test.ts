import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { type AuditFacts, auditLine, redacted } from "./audit-record.ts";

const facts: AuditFacts = {
  id: "id-1",
  startedAt: Date.UTC(2026, 0, 1),
  ms: 1.23456,
  ip: "127.0.0.1",
  code: 201,
  identity: { user: "ann", groups: ["devs"] },
  verb: "create",
  group: "",
  resource: "configmaps",
  namespace: "default",
};
const line = (more: Partial<AuditFacts>) => JSON.parse(auditLine({ ...facts, ...more })) as Record<string, unknown>;

test("a line says who did what, when, from where and with which outcome", () => {
  expect(line({ isDryRun: true, name: "x", subresource: "status" })).toEqual({
    time: "2026-01-01T00:00:00.000000Z",
    id: "id-1",
    user: "ann",
    groups: ["devs"],
    ip: "127.0.0.1",
    verb: "create",
    resource: "configmaps",
    ns: "default",
    name: "x",
    sub: "status",
    code: 201,
    ms: 1.235,
    dryRun: true,
  });
  const caller = { user: "root", groups: [] };
  expect(line({ caller })).toMatchObject({ user: "ann", by: "root" });
  expect(auditLine({ ...facts, body: { a: "line\nbreak" } })).not.toContain("\n");
});

test("a body stands in it, unless it is long", () => {
  expect(line({ body: { data: { k: "v" } } })).toMatchObject({ body: { data: { k: "v" } } });
  expect(line({ body: [1] })).toMatchObject({ body: [1] });
  expect(line({ body: { data: "x".repeat(20_000) } })).toMatchObject({ bodySize: 20_011 });
  expect(line({ body: {}, bodyBytes: 99_999 })).toMatchObject({ bodySize: 99_999 });
  expect(line({ body: {}, bodyBytes: Number.NaN })).toMatchObject({ body: {} });
});

describe("what opens doors", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  test.each<[string, string, JsonValue]>([
    ["secrets", "", { data: { k: "SECRET" }, stringData: { k: "SECRET" } }],
    ["secrets", "", { data: "SECRET" }],
    ["secrets", "", { stringdata: { k: "SECRET" }, k: "SECRET" }],
    ["secrets", "", [{ op: "add", path: "/data/k", value: "SECRET" }]],
    ["secrets", "", "SECRET"],
    ["secrets", "", { metadata: { name: "x", annotations: { [annotation]: '{"data":{"k":"SECRET"}}', a: "b" } } }],
    ["configmaps", "", { kind: "Secret", data: { k: "SECRET" } }],
    ["configmaps", "", { kind: "List", items: [{ kind: "Secret", stringData: { k: "SECRET" } }] }],
    ["secrets", "", { kind: "SecretList", items: [{ data: { k: "SECRET" } }, "SECRET"], data: { k: "SECRET" } }],
    ["workflows", "", { spec: { steps: { s: { template: { kind: "Secret", data: { k: "SECRET" } } } } } }],
    ["workflows", "", { metadata: { annotations: { [annotation]: '{"kind":"Workflow","data":"SECRET"}' } } }],
    ["workflows", "", { spec: { steps: { s: { template: { stringData: { k: "SECRET" } } } } } }],
    ["workflows", "", [{ op: "add", path: "/spec/steps/s", value: { template: { kind: "Secret", data: "SECRET" } } }]],
    ["configmaps", "", { kind: "List", items: [{ kind: "List", items: [{ kind: "Secret", data: { k: "SECRET" } }] }] }],
    ["pods", "", { kind: "TokenReview", spec: { token: "SECRET" } }],
    ["tokenreviews", "", { spec: { token: "SECRET" } }],
    ["serviceaccounts", "token", { spec: {}, status: { token: "SECRET" } }],
  ])("%s %s: %j is left out", (resource, subresource, body) => {
    expect(JSON.stringify(redacted(resource, subresource, body))).not.toContain("SECRET");
  });

  test("names stay, and so does what is no secret", () => {
    expect(redacted("secrets", "", { metadata: { name: "x" }, data: { user: "c2VjcmV0" }, type: "Opaque" })).toEqual({
      metadata: { name: "x" },
      data: { user: "<redacted>" },
      type: "Opaque",
    });
    expect(redacted("configmaps", "", { data: { k: "v" } })).toEqual({ data: { k: "v" } });
  });
});
