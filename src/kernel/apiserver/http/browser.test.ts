import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configMap, startTestServer, type TestServer } from "../testing/index.ts";

// What a page of another site can make a browser send, by raw requests: each with the right token, which such a page does not have.

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const maps = "/api/v1/namespaces/default/configmaps";
const everywhere = [maps, "/api", "/apis", "/openapi/v3", "/metrics", "/", "/readyz", "/version", "/slipway/ui"];

describe("(a) the host", () => {
  test.each([
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "169.254.169.254",
    "[::2]",
    "localhost:x",
  ])("%s is not ours, on no path", async (Host) => {
    for (const path of everywhere) {
      const answer = await api.ask("GET", path, { headers: { Host } });
      expect([path, answer.status, answer.json["code"]]).toEqual([path, 421, 421]);
    }
  });

  test.each(["localhost", "localhost:1", "127.0.0.1:65535", "[::1]:6443", "LOCALHOST"])("%s is", async (Host) => {
    expect((await api.ask("GET", "/api", { headers: { Host } })).status).toBe(200);
  });
});

describe("(b) other sites", () => {
  test.each<Record<string, string>>([
    { Origin: "https://evil.example" },
    { Origin: "null" },
    { Origin: "http://localhost" },
    { Origin: "https://localhost:1" },
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site" },
  ])("%j is refused before credentials are looked at", async (headers) => {
    for (const path of everywhere) {
      for (const token of [api.token, "wrong", false] as const) {
        const answer = await api.ask("GET", path, { headers: { Host: "localhost", ...headers }, token });
        expect([path, answer.status]).toEqual([path, 403]);
      }
    }
  });

  test("preflights get no CORS headers, and neither does any answer", async () => {
    const preflight = await api.ask("OPTIONS", maps, {
      token: false,
      headers: {
        Host: "localhost",
        Origin: "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
      },
    });
    expect(preflight.status).toBe(403);
    const own = await api.ask("GET", maps, { headers: { Host: "localhost", Origin: "https://localhost" } });
    expect(own.status).toBe(200);
    for (const { headers } of [preflight, own])
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });

  test("nothing is written by a request that is refused", async () => {
    const headers = { Host: "localhost", Origin: "https://evil.example" };
    await api.ask("POST", maps, { body: configMap("smuggled"), headers });
    expect((await api.ask("GET", `${maps}/smuggled`)).status).toBe(404);
  });
});

describe("(c) what a browser sends by itself", () => {
  test.each<Record<string, string>>([
    { Cookie: "token=TOKEN; __Host-slipway=TOKEN" },
    { Authorization: "Basic TOKEN" },
    { "Proxy-Authorization": "Bearer TOKEN" },
    { "X-Api-Token": "TOKEN" },
  ])("%j lets nobody in", async (given) => {
    const headers = Object.fromEntries(Object.entries(given).map(([k, v]) => [k, v.replaceAll("TOKEN", api.token)]));
    expect((await api.ask("GET", maps, { token: false, headers })).status).toBe(401);
  });

  test("a token in the URL is none", async () => {
    for (const name of ["token", "access_token", "authorization"])
      expect((await api.ask("GET", `${maps}?${name}=${api.token}`, { token: false })).status).toBe(401);
  });
});

test("(e) answers are neither guessed at nor kept", async () => {
  for (const [path, ask] of [
    [maps, {}],
    [maps, { token: false }],
    ["/none", {}],
    ["/readyz", { token: false }],
    [maps, { headers: { Host: "evil.example" } }],
  ] as const) {
    const { headers } = await api.ask("GET", path, ask);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["cache-control"]).toMatch(/no-store/);
    expect(headers["content-security-policy"]).toBe("default-src 'none'; frame-ancestors 'none'; sandbox");
    expect(headers["content-type"]).not.toMatch(/html/);
  }
});

describe("(f) bodies of forms", () => {
  const text = JSON.stringify(configMap("formed"));
  test.each([
    "text/plain",
    "text/plain;charset=UTF-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "TEXT/PLAIN",
    "",
  ])("%j is 415 for writes of all kinds", async (type) => {
    const headers = { "Content-Type": type };
    expect((await api.ask("POST", maps, { bytes: text, headers })).status).toBe(415);
    expect((await api.ask("PUT", `${maps}/kube-root-ca.crt`, { bytes: text, headers })).status).toBe(415);
    expect((await api.ask("PATCH", `${maps}/kube-root-ca.crt`, { bytes: text, headers })).status).toBe(415);
    expect((await api.ask("DELETE", `${maps}/kube-root-ca.crt`, { bytes: text, headers })).status).toBe(415);
  });

  test("a body without a type is JSON, but not from a browser", async () => {
    const own = { Host: "localhost", Origin: "https://localhost" };
    expect((await api.ask("POST", maps, { bytes: text, headers: own })).status).toBe(415);
    expect((await api.ask("POST", maps, { bytes: text })).status).toBe(201);
  });
});
