import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { Agent, request as httpsRequest } from "node:https";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { toCrd } from "#lib/schema/index.ts";
import { Credential, credentialHash, newCredential, newToken } from "../authz/credential.ts";
import { type Json, pod, startTestServer, type TestServer, type TestWatch } from "../testing/index.ts";

let api: TestServer;
const clock = new FakeClock(Date.now());
beforeAll(async () => {
  const definitions = [JSON.parse(JSON.stringify(toCrd(Credential)))];
  api = await startTestServer({ clock, definitions, podLogs: { open: async (_pod, { signal }) => endless(signal) } });
});
afterAll(() => api.close());

const path = "/apis/slipway.dev/v1alpha1/credentials";
const whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

/** A log that goes on until nobody reads it. */
async function* endless(signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  yield Buffer.from('{"line":1}\n');
  await new Promise((resolve) => signal?.addEventListener("abort", resolve));
}

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

describe("what is open", () => {
  const namespaces = "/api/v1/namespaces?watch=1";
  const log = "/api/v1/namespaces/default/pods/p/log?follow=true";
  beforeAll(async () => {
    expect((await api.ask("POST", "/api/v1/namespaces/default/pods", { body: pod("p") })).status).toBe(201);
  });
  const open = async (path: string, token: string) => {
    const stream = await api.watch(path, { Authorization: `Bearer ${token}` });
    expect(stream.status).toBe(200);
    return stream;
  };
  /** Until its end: how many events there were. */
  async function rest(stream: TestWatch): Promise<number> {
    for (let count = 0; ; count += 1) if ((await stream.next()) === undefined) return count;
  }
  const groups = ["system:masters"];
  /** Is it open still, and not about to end: does it tell of what is made now? */
  async function hears(stream: TestWatch): Promise<boolean> {
    const { json } = await api.ask("POST", "/api/v1/namespaces", {
      body: { apiVersion: "v1", kind: "Namespace", metadata: { generateName: "heard-" } },
    });
    for (let event = await stream.next(); event !== undefined; event = await stream.next())
      if (event["object"]?.["metadata"]?.["name"] === json["metadata"]?.["name"]) return true;
    return false;
  }

  test("ends when the credential is taken back: a watch as at its time, a log by a cut; others go on", async () => {
    const { token, name } = await grant("ann", groups);
    const other = await grant("ann", groups);
    const [watch, followed, stays] = [
      await open(namespaces, token),
      await open(log, token),
      await open(log, other.token),
    ];
    expect(await followed.next()).toEqual({ line: 1 });
    expect(await stays.next()).toEqual({ line: 1 });
    const line = followed.next();
    line.catch(() => undefined);
    await clock.advance(5000);
    expect((await api.ask("DELETE", `${path}/${name}`)).status).toBe(200);
    await clock.advance(1000);
    expect(await rest(watch)).toBeGreaterThan(0);
    await expect(line).rejects.toThrow("aborted");
    const next = stays.next().then(
      () => "ended",
      () => "cut",
    );
    await clock.advance(5000);
    expect(await Promise.race([next, Promise.resolve("open")])).toBe("open");
    stays.close();
  });

  test("ends with the time of a token, of an account's too, and with the account", async () => {
    const { token } = await grant("ann", groups, undefined, clock.now() + 60_000);
    const watch = await open(namespaces, token);
    await clock.advance(59_000);
    expect(await hears(watch)).toBe(true);
    await clock.advance(2000);
    await rest(watch);

    const binding = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "robots" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "robot", namespace: "default" }],
    };
    const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    expect((await api.ask("POST", bindings, { body: binding })).status).toBe(201);
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
    expect((await api.ask("POST", accounts, { body: account })).status).toBe(201);
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 600 } };
    const tokenOf = async () =>
      String((await api.ask("POST", `${accounts}/robot/token`, { body: request })).json["status"]?.["token"]);
    const early = await open(namespaces, await tokenOf());
    await clock.advance(300_000);
    expect(await hears(early)).toBe(true);
    const late = await open(namespaces, await tokenOf());
    await clock.advance(301_000);
    await rest(early);
    expect(await hears(late)).toBe(true);
    expect((await api.ask("DELETE", `${accounts}/robot`)).status).toBe(200);
    await clock.advance(1000);
    await rest(late);
  });

  /** A watch with a certificate, by its end. */
  async function openCertified(pair: { readonly cert: string; readonly key: string }) {
    const agent = new Agent({ maxSockets: 1, ca: api.ca, ...pair });
    const { hostname, port } = new URL(api.url);
    const request = httpsRequest({ agent, hostname, port, path: namespaces });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    response.resume();
    const ended = once(response, "end").finally(() => agent.destroy());
    return { ended, isOpen: () => !response.readableEnded };
  }

  test("ends with the certificate that opened it", async () => {
    const pair = await api.certify("cara", groups, 30, true);
    const sha256 = credentialHash(new X509Certificate(pair.cert).raw);
    const body = newCredential({ user: "cara", groups, form: "ClientCertificate", sha256 });
    expect((await api.ask("POST", path, { body })).status).toBe(201);
    const { ended } = await openCertified(pair);
    expect((await api.ask("DELETE", `${path}/${body.metadata.name}`)).status).toBe(200);
    await clock.advance(1000);
    await ended;
  });

  test("ends with the time of a certificate", async () => {
    // Certificates are made by the system's clock, which is behind by now.
    const ms = clock.now() - Date.now() + 120_000;
    const { ended, isOpen } = await openCertified(await api.certify("carl", groups, ms / 86_400_000));
    await clock.advance(100_000);
    await api.ask("GET", "/api");
    expect(isOpen()).toBe(true);
    await clock.advance(22_000);
    await ended;
  });
});
