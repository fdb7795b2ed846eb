import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createStaticToken } from "../authz/credential.ts";
import { type KeyPair, loadX509 } from "#kernel/doors/index.ts";
import { type Json, pod, startTestServer, type TestServer } from "../testing/index.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const userOf = ({ json }: { readonly json: Json }) => json["status"]?.["userInfo"];

/** Asks over a connection of its own with a certificate. */
async function askWith(pair: KeyPair, headers: Readonly<Record<string, string>> = {}, session?: Buffer) {
  const { hostname, port } = new URL(api.url);
  const request = httpsRequest({
    hostname,
    port,
    method: "POST",
    path: whoami,
    agent: false,
    ca: api.ca,
    ...pair,
    ...(session === undefined ? {} : { session }),
    headers: { "Content-Type": "application/json", ...headers },
  });
  const sessions: Buffer[] = [];
  request.on("socket", (socket) => void socket.on("session", (made: Buffer) => sessions.push(made)));
  request.end(JSON.stringify(body));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const json = JSON.parse(Buffer.concat(chunks).toString()) as Json;
  return { status: response.statusCode, json, session: sessions.at(-1) };
}

describe("a client certificate", () => {
  test("names user and groups", async () => {
    const answer = await askWith(await api.certify("ann", ["devs", "ops"]));
    expect(answer.status).toBe(201);
    expect(userOf(answer)).toEqual({ username: "ann", groups: ["devs", "ops", "system:authenticated"] });
    expect(userOf(await askWith(await api.certify("bob", [])))).toEqual({
      username: "bob",
      groups: ["system:authenticated"],
    });
  });

  test("wins over a token, as in Kubernetes", async () => {
    const answer = await askWith(await api.certify("ann", []), { Authorization: `Bearer ${api.token}` });
    expect(userOf(answer)).toMatchObject({ username: "ann" });
  });

  test("counts when a TLS session is taken up again", async () => {
    const pair = await api.certify("ann", []);
    const first = await askWith(pair);
    const again = await askWith(pair, {}, first.session);
    expect(userOf(again)).toMatchObject({ username: "ann" });
  });

  test.each<[string, () => Promise<KeyPair>]>([
    [
      "of another authority",
      async () => {
        const { createAuthority, createClient } = await loadX509();
        const other = await createAuthority(Date.now(), "other");
        return createClient(other, { user: "ann", groups: ["system:masters"] }, Date.now());
      },
    ],
    ["that has ended", () => api.certify("ann", ["system:masters"], -1)],
    ["for servers", () => Promise.resolve(api.serving)],
    ["without a user", () => api.certify("", ["system:masters"])],
  ])("%s is nobody's, and a token still counts", async (_what, make) => {
    const pair = await make();
    expect((await askWith(pair)).status).toBe(401);
    const answer = await askWith(pair, { Authorization: `Bearer ${api.token}` });
    expect(userOf(answer)).toMatchObject({ username: "slipway:admin" });
  });

  test("counts with the server's own origin, which WebSocket libraries of programs send", async () => {
    const headers = { Host: "localhost:6443", Origin: "https://localhost:6443" };
    expect(userOf(await askWith(await api.certify("ann", []), headers))).toMatchObject({ username: "ann" });
  });

  test.each([
    { Origin: "https://localhost", "Sec-Fetch-Site": "same-origin" },
    { "Sec-Fetch-Site": "same-origin" },
    { "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate" },
    { "Sec-Fetch-Mode": "cors" },
    { "Sec-Fetch-Dest": "document" },
    { "Sec-Fetch-User": "?1" },
    { "Sec-Fetch-Storage-Access": "none" },
  ])("is not enough for a browser, which sends it unasked: %j", async (headers) => {
    const pair = await api.certify("ann", ["system:masters"]);
    const given = { Host: "localhost", ...headers };
    expect(await askWith(pair, given)).toMatchObject({
      status: 401,
      json: { message: expect.stringContaining("Origin or Sec-Fetch headers): send a bearer token") as string },
    });
    const answer = await askWith(pair, { ...given, Authorization: `Bearer ${api.token}` });
    expect(userOf(answer)).toMatchObject({ username: "slipway:admin" });
  });
});

describe("a static token", () => {
  test("is its user's", async () => {
    const token = await createStaticToken(api.store, "vera", ["slipway:viewers"]);
    expect(userOf(await api.ask("POST", whoami, { body, token }))).toMatchObject({ username: "vera" });
    expect((await api.ask("GET", "/api/v1/pods", { token })).status).toBe(200);
    expect((await api.ask("GET", "/api/v1/secrets", { token })).json).toMatchObject({
      code: 403,
      message: 'secrets is forbidden: User "vera" cannot list resource "secrets" in API group "" at the cluster scope',
    });
    expect((await api.ask("GET", "/metrics", { token })).status).toBe(200);
  });
});

describe("acting as somebody else", () => {
  const as = (headers: Readonly<Record<string, string>>, token?: string) =>
    api.ask("POST", whoami, { body, headers, ...(token === undefined ? {} : { token }) });

  test("an administrator may", async () => {
    const answer = await as({
      "Impersonate-User": "ann",
      "Impersonate-Group": "devs, and, commas",
      "Impersonate-Uid": "7",
      "Impersonate-Extra-Scopes%2Fa": "one",
    });
    expect(userOf(answer)).toEqual({
      username: "ann",
      uid: "7",
      groups: ["devs, and, commas", "system:authenticated"],
      extra: { "scopes/a": ["one"] },
    });
    expect(userOf(await as({ "Impersonate-User": "system:serviceaccount:default:x" }))).toMatchObject({
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    });
    // Nobody is in no group, so that he may not even ask who he is.
    expect((await as({ "Impersonate-User": "system:anonymous" })).status).toBe(403);
  });

  test("is what the rights are then judged by", async () => {
    const headers = { "Impersonate-User": "ann" };
    expect((await api.ask("GET", "/api/v1/pods", { headers })).json).toMatchObject({
      code: 403,
      message: 'pods is forbidden: User "ann" cannot list resource "pods" in API group "" at the cluster scope',
    });
  });

  test("others may not, and groups need a user", async () => {
    const token = await createStaticToken(api.store, "olga", ["slipway:operators"]);
    expect((await as({ "Impersonate-User": "ann" }, token)).json).toMatchObject({
      code: 403,
      message:
        'users "ann" is forbidden: User "olga" cannot impersonate resource "users" in API group "" at the cluster scope',
    });
    expect((await as({ "Impersonate-Group": "system:masters" })).status).toBe(400);
    expect((await as({ "Impersonate-Group": "system:masters" }, token)).status).toBe(400);
  });

  test("every part needs its own right", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    await api.ask("POST", `${rbac}/clusterroles`, {
      body: {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: "acts-as-ann" },
        rules: [{ verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["ann"] }],
      },
    });
    await api.ask("POST", `${rbac}/clusterrolebindings`, {
      body: {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "acts-as-ann" },
        roleRef: { kind: "ClusterRole", name: "acts-as-ann" },
        subjects: [{ kind: "User", name: "pete" }],
      },
    });
    const token = await createStaticToken(api.store, "pete", []);
    expect(userOf(await as({ "Impersonate-User": "ann" }, token))).toMatchObject({ username: "ann" });
    for (const headers of [
      { "Impersonate-User": "bob" },
      { "Impersonate-User": "ann", "Impersonate-Group": "system:masters" },
      { "Impersonate-User": "ann", "Impersonate-Uid": "1" },
      { "Impersonate-User": "ann", "Impersonate-Extra-A": "1" },
      { "Impersonate-User": "system:serviceaccount:default:default" },
    ])
      expect([headers, (await as(headers as never, token)).status]).toEqual([headers, 403]);
  });
});

describe("tokens of accounts", () => {
  const path = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const request = (spec: object = {}) => ({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec });

  test("are asked for, and then are the account", async () => {
    const made = await api.ask("POST", path, { body: request() });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      kind: "TokenRequest",
      metadata: { name: "default", namespace: "default" },
      spec: { expirationSeconds: 3600 },
    });
    const token = String(made.json["status"]?.["token"]);
    expect(userOf(await api.ask("POST", whoami, { body, token }))).toMatchObject({
      username: "system:serviceaccount:default:default",
    });
    expect((await api.ask("GET", "/api/v1/namespaces/default/pods", { token })).status).toBe(403);
    const seconds = Date.parse(String(made.json["status"]?.["expirationTimestamp"])) - Date.now();
    expect(seconds).toBeGreaterThan(3_500_000);
  });

  test.each<[object, number, string]>([
    [{ expirationSeconds: 599 }, 422, "may not specify a duration less than 10 minutes"],
    [{ expirationSeconds: 2 ** 32 + 1 }, 422, "may not specify a duration larger than 2^32 seconds"],
    [{ audiences: "x" }, 400, "spec.audiences must be of type array"],
    [{ boundObjectRef: { kind: "ConfigMap", name: "x" } }, 400, 'to object kind "ConfigMap"'],
    [{ boundObjectRef: { kind: "Pod", name: "none" } }, 404, 'pods "none" not found'],
    [{ boundObjectRef: { kind: "Pod", name: "bound", uid: "1" } }, 409, "uid"],
  ])("with %j are refused: %d", async (spec, code, text) => {
    await api.ask("POST", "/api/v1/namespaces/default/pods", { body: pod("bound") });
    const answer = await api.ask("POST", path, { body: request(spec) });
    expect([answer.status, answer.json["message"]]).toEqual([code, expect.stringContaining(text)]);
  });

  test("are asked for by clients that send null for what they leave out", async () => {
    const spec = { audiences: null, expirationSeconds: 600, boundObjectRef: null };
    const status = { token: "", expirationTimestamp: null };
    const asked = { ...request(spec), metadata: { creationTimestamp: null }, status };
    const answer = await api.ask("POST", path, { body: asked });
    expect([answer.status, answer.json["spec"]]).toMatchObject([201, { expirationSeconds: 600 }]);
  });

  test("are of accounts that exist, by their right name and kind", async () => {
    expect((await api.ask("POST", path.replace("default/token", "none/token"), { body: request() })).status).toBe(404);
    expect((await api.ask("POST", path, { body: { ...request(), metadata: { name: "x" } } })).status).toBe(400);
    expect((await api.ask("POST", path, { body: { ...request(), kind: "Token" } })).status).toBe(400);
    const got = await api.ask("GET", path);
    expect([got.status, got.headers["allow"]]).toEqual([405, "POST"]);
  });

  test("need a right of their own", async () => {
    const token = await createStaticToken(api.store, "oleg", ["slipway:operators"]);
    expect((await api.ask("POST", path, { body: request(), token })).status).toBe(403);
  });
});
