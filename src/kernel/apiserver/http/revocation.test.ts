import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { Agent, request as httpsRequest } from "node:https";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { toCrd } from "#lib/schema/index.ts";
import { Credential, credentialHash, newCredential } from "../authz/credential.ts";
import { newToken } from "../authz/static-tokens.ts";
import { type Json, startTestServer, type TestServer } from "../testing/index.ts";

let api: TestServer;
const clock = new FakeClock(Date.now());
beforeAll(async () => {
  api = await startTestServer({ clock, definitions: [JSON.parse(JSON.stringify(toCrd(Credential)))] });
});
afterAll(() => api.close());

const path = "/apis/slipway.dev/v1alpha1/credentials";
const whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

/** Makes a token as whoever has `by`; the administrator unless told. */
async function grant(user: string, groups: readonly string[], by?: string, until?: number) {
  const token = newToken();
  const end = until === undefined ? {} : { until };
  const body = newCredential({ user, groups, form: "Token", sha256: credentialHash(token), ...end });
  const answer = await api.ask("POST", path, { body, ...(by === undefined ? {} : { token: by }) });
  return { token, answer, name: body.metadata.name ?? "" };
}
const asks = async (token: string) => (await api.ask("POST", whoami, { body: review, token })).status;

test("a token is taken back by deleting its credential, at once and on connections that are open", async () => {
  const { token, name, answer } = await grant("ann", ["devs"]);
  expect(answer.status).toBe(201);
  expect(answer.text).not.toContain(token);
  const { json } = await api.ask("POST", whoami, { body: review, token });
  expect(json["status"]?.["userInfo"]).toEqual({ username: "ann", groups: ["devs", "system:authenticated"] });
  expect((await api.ask("DELETE", `${path}/${name}`)).status).toBe(200);
  expect(await asks(token)).toBe(401);
});

test("a token that has ended lets nobody in", async () => {
  const { token } = await grant("ann", [], undefined, clock.now() + 60_000);
  expect(await asks(token)).toBe(201);
  await clock.advance(60_000);
  expect(await asks(token)).toBe(401);
});

test("a certificate that can be taken back counts while its credential is there, also on a connection that is open", async () => {
  const pair = await api.certify("cara", ["devs"], 30, true);
  const sha256 = credentialHash(new X509Certificate(pair.cert).raw);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: api.ca, ...pair });
  const ask = async () => {
    const { hostname, port } = new URL(api.url);
    const headers = { "Content-Type": "application/json" };
    const request = httpsRequest({ agent, hostname, port, method: "POST", path: whoami, headers });
    request.end(JSON.stringify(review));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    return { status: response.statusCode, json: JSON.parse(Buffer.concat(chunks).toString()) as Json };
  };
  expect((await ask()).status).toBe(401);
  const body = newCredential({ user: "cara", groups: ["devs"], form: "ClientCertificate", sha256 });
  expect((await api.ask("POST", path, { body })).status).toBe(201);
  expect((await ask()).json["status"]?.["userInfo"]).toMatchObject({ username: "cara" });
  expect((await api.ask("DELETE", `${path}/${body.metadata.name}`)).status).toBe(200);
  expect((await ask()).status).toBe(401);
  agent.destroy();
});

test("nobody makes a credential for somebody as whom he may not act", async () => {
  const operator = await grant("olga", ["slipway:operators"]);
  expect((await grant("x", [], operator.token)).answer.json).toMatchObject({ code: 403 });
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "issuer" },
    rules: [
      { apiGroups: ["slipway.dev"], resources: ["credentials"], verbs: ["create"] },
      { apiGroups: [""], resources: ["users"], resourceNames: ["dora"], verbs: ["impersonate"] },
    ],
  };
  const roles = "/apis/rbac.authorization.k8s.io/v1";
  expect((await api.ask("POST", `${roles}/clusterroles`, { body: role })).status).toBe(201);
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "issuer" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "issuer" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ivan" }],
  };
  expect((await api.ask("POST", `${roles}/clusterrolebindings`, { body: binding })).status).toBe(201);
  const issuer = await grant("ivan", []);
  expect((await grant("dora", [], issuer.token)).answer.status).toBe(201);
  expect((await grant("ann", [], issuer.token)).answer.json).toMatchObject({
    message: expect.stringContaining('cannot impersonate resource "users"'),
  });
  expect((await grant("dora", ["system:masters"], issuer.token)).answer.json).toMatchObject({
    message: expect.stringContaining('cannot impersonate resource "groups"'),
  });
});
