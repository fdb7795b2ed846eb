import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  configMap,
  pod,
  startTestServer,
  type TestServer,
  waitUntil,
  widget,
  widgetDefinition,
} from "../testing/index.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
  await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: widgetDefinition });
});
afterAll(() => api.close());

/** A namespace of its own, with a quota `q`. */
async function limited(namespace: string, hard: object, spec: object = {}): Promise<string> {
  await api.ask("POST", "/api/v1/namespaces", {
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  });
  const path = `/api/v1/namespaces/${namespace}`;
  const body = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec: { hard, ...spec } };
  const { status, json } = await api.ask("POST", `${path}/resourcequotas`, { body });
  expect([status, json["message"]]).toEqual([201, undefined]);
  return path;
}

const usedIn = async (path: string) => (await api.ask("GET", `${path}/resourcequotas/q`)).json["status"];

describe("a quota", () => {
  test("refuses what would be one too many, and says what was asked, used and allowed", async () => {
    const path = await limited("plain", { "count/configmaps": "3" });
    // The server's own ConfigMap is counted too.
    const own = (await api.ask("GET", `${path}/configmaps`)).json["items"] as unknown as readonly unknown[];
    for (let count = own.length; count < 3; count++)
      expect((await api.ask("POST", `${path}/configmaps`, { body: configMap(`c${count}`) })).status).toBe(201);
    const { status, json } = await api.ask("POST", `${path}/configmaps`, { body: configMap("late") });
    expect([status, json["reason"], json["message"]]).toEqual([
      403,
      "Forbidden",
      'configmaps "late" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=3, limited: count/configmaps=3',
    ]);
  });

  test("holds for many at once", async () => {
    const path = await limited("race", { secrets: 5 });
    const secret = (name: string) => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => api.ask("POST", `${path}/secrets`, { body: secret(`s${index}`) })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(15);
  });

  test("counts custom kinds by plural and group, and gives the place back when one goes", async () => {
    const path = await limited("custom", { "count/widgets.demo.example.org": "1" });
    const widgets = "/apis/demo.example.org/v1/namespaces/custom/widgets";
    expect((await api.ask("POST", widgets, { body: widget("a") })).status).toBe(201);
    expect((await api.ask("POST", widgets, { body: widget("b") })).status).toBe(403);
    await api.ask("DELETE", `${widgets}/a`);
    expect((await api.ask("POST", widgets, { body: widget("b") })).status).toBe(201);
    expect((await api.ask("POST", `${path}/configmaps`, { body: configMap("free") })).status).toBe(201);
  });

  test("counts Pods that have not ended", async () => {
    const path = await limited("pods", { pods: "1" });
    expect((await api.ask("POST", `${path}/pods`, { body: pod("a") })).status).toBe(201);
    expect((await api.ask("POST", `${path}/pods`, { body: pod("b") })).status).toBe(403);
    const merge = { headers: { "Content-Type": "application/merge-patch+json" } };
    await api.ask("PATCH", `${path}/pods/a/status`, { ...merge, body: { status: { phase: "Succeeded" } } });
    expect((await api.ask("POST", `${path}/pods`, { body: pod("b") })).status).toBe(201);
  });

  test("counts ports on nodes and load balancers", async () => {
    const path = await limited("ports", { "services.nodeports": "2", "services.loadbalancers": "0" });
    const service = (name: string, type: string, count: number) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { type, ports: Array.from({ length: count }, (_, index) => ({ name: `p${index}`, port: index + 1 })) },
    });
    const post = async (body: object) => (await api.ask("POST", `${path}/services`, { body })).status;
    expect(await post(service("inside", "ClusterIP", 5))).toBe(201);
    expect(await post(service("lb", "LoadBalancer", 1))).toBe(403);
    expect(await post(service("many", "NodePort", 3))).toBe(403);
    expect(await post(service("two", "NodePort", 2))).toBe(201);
    expect(await post(service("more", "NodePort", 1))).toBe(403);
  });

  test("limits its own namespace only, and a dry run too", async () => {
    const path = await limited("here", { "count/configmaps": "0" });
    expect((await api.ask("POST", "/api/v1/namespaces/default/configmaps", { body: configMap("there") })).status).toBe(
      201,
    );
    expect((await api.ask("POST", `${path}/configmaps?dryRun=All`, { body: configMap("x") })).status).toBe(403);
  });

  test("shows what is used, and follows changes of its limits", async () => {
    const path = await limited("shown", { "count/configmaps": "10", "requests.cpu": "2" });
    await api.ask("POST", `${path}/configmaps`, { body: configMap("one") });
    await waitUntil(async () => {
      const status = (await usedIn(path)) as unknown as { readonly used?: Record<string, string> };
      return Number(status.used?.["count/configmaps"]) >= 1;
    });
    const merge = { headers: { "Content-Type": "application/merge-patch+json" } };
    await api.ask("PATCH", `${path}/resourcequotas/q`, {
      ...merge,
      body: { spec: { hard: { "count/configmaps": "7" } } },
    });
    await waitUntil(async () => {
      const status = (await usedIn(path)) as unknown as { readonly hard?: Record<string, string> };
      return status.hard?.["count/configmaps"] === "7";
    });
    expect(await usedIn(path)).toMatchObject({
      used: expect.not.objectContaining({ "requests.cpu": expect.anything() }),
    });
  });

  test("with scopes limits nothing, and says so", async () => {
    const path = await limited("scoped", { pods: "0" }, { scopes: ["BestEffort"] });
    expect((await api.ask("POST", `${path}/pods`, { body: pod("a") })).status).toBe(201);
  });
});

test.each([
  ["a negative limit", { pods: "-1" }, "spec.hard.pods", "greater than or equal to 0"],
  ["half a Pod", { pods: "500m" }, "spec.hard.pods", "must be an integer"],
  ["what nobody knows", { coffee: "1" }, "spec.hard.coffee", "must be a standard resource for quotas"],
])("%s is refused", async (_what, hard, field, message) => {
  const body = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "bad" }, spec: { hard } };
  const { status, json } = await api.ask("POST", "/api/v1/namespaces/default/resourcequotas", { body });
  expect(status).toBe(422);
  const causes = json["details"]?.["causes"] as unknown as readonly {
    readonly field: string;
    readonly message: string;
  }[];
  expect(causes.map((cause) => cause.message).join()).toContain(message);
  expect(causes.map((cause) => cause.field.replace(/\[(.*)\]/, ".$1"))).toContain(field);
});
