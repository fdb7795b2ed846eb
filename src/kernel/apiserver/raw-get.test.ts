import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiError } from "#kernel/model/index.ts";
import { configMap, pod, startTestServer, type TestServer, widgetDefinition } from "./testing/index.ts";

let api: TestServer;
let trouble: string | undefined;
beforeAll(async () => {
  api = await startTestServer({ health: { controllers: () => trouble } });
  const labels = { tier: "web" };
  for (const name of ["a", "b", "c"])
    await api.ask("POST", "/api/v1/namespaces/default/configmaps", {
      body: configMap(name, { data: { name } }, { labels }),
    });
  await api.ask("POST", "/api/v1/namespaces/default/pods", { body: pod("p") });
  await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: widgetDefinition });
});
afterAll(() => api.close());

describe("a raw GET in this process answers as HTTPS does", () => {
  test.each([
    "/version",
    "/readyz",
    "/readyz?verbose",
    "/livez",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/batch",
    "/apis/demo.example.org/v1",
    "/openapi/v3",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/configmaps?labelSelector=tier%3Dweb&limit=2",
    "/api/v1/configmaps?fieldSelector=metadata.name%3Db",
    "/api/v1/namespaces/default/configmaps/a",
    "/api/v1/namespaces/default/pods/p/status",
    "/api/v1/namespaces/none/configmaps",
    "/apis/demo.example.org/v1/widgets",
  ])("%s", async (path) => {
    const [raw, served] = [await api.client.raw(path), await api.ask("GET", path)];
    expect(served.status).toBe(200);
    const parsed = (text: string): unknown => (text.startsWith("{") ? JSON.parse(text) : text);
    expect(parsed(raw)).toEqual(parsed(served.text));
  });

  test.each([
    "/none",
    "/api/v1/things",
    "/api/v1/namespaces/default/configmaps/none",
    "/api/v1/namespaces/default/configmaps?limit=-1",
    "/api/v1/namespaces/default/configmaps?labelSelector=a+in+(",
    "/api/v1/namespaces/default/configmaps?continue=x",
    "/api/v1/namespaces/default/configmaps/a?resourceVersion=abc",
    "/apis/demo.example.org/v2",
  ])("%s is refused alike", async (path) => {
    const served = await api.ask("GET", path);
    const raw = await api.client.raw(path).catch((thrown: unknown) => thrown);
    expect(raw).toBeInstanceOf(ApiError);
    expect(raw).toMatchObject({ code: served.status, reason: served.json["reason"], message: served.json["message"] });
  });

  test("but reads neither streams nor what needs a listener", async () => {
    for (const path of ["/api/v1/configmaps?watch=1", "/api/v1/namespaces/default/pods/p/log"])
      await expect(api.client.raw(path)).rejects.toMatchObject({
        code: 400,
        message: "a raw GET reads objects and lists; use watch or logs for streams",
      });
    await expect(api.client.raw("/metrics")).rejects.toMatchObject({ code: 404 });
  });

  test("a check that fails is a refusal with the lines of all checks", async () => {
    trouble = "starting";
    await expect(api.client.raw("/readyz")).rejects.toMatchObject({
      code: 500,
      message: expect.stringContaining("[-]controllers failed: starting"),
    });
    trouble = undefined;
  });

  test("a request that nobody wants any more is not answered", async () => {
    const signal = AbortSignal.abort(new Error("no longer wanted"));
    await expect(api.client.raw("/api/v1/configmaps", { signal })).rejects.toThrow("no longer wanted");
  });
});
