import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogRequest } from "#kernel/streams/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import { kind, s, toCrds } from "#lib/schema/index.ts";
import { Credential, credentialHash, newCredential, newToken } from "../authz/credential.ts";
import { startTestServer, type TestServer } from "../testing/index.ts";

const Machine = kind({
  group: "test.slipway.dev",
  version: "v1",
  kind: "Machine",
  plural: "machines",
  scope: "Namespaced",
  spec: s.object({}),
});
const machines = "/apis/test.slipway.dev/v1/namespaces/default/machines";

const asked: { readonly name: string; readonly part: string; readonly request: LogRequest }[] = [];
const source = {
  kinds: [{ group: Machine.group, kind: Machine.kind }],
  parameter: "action",
  async open({ metadata: { name = "" } }: KubeObject, part: string, request: LogRequest) {
    asked.push({ name, part, request });
    if (part === "none") throw badRequest("there is no such action");
    return (async function* () {
      yield Buffer.from("one\n");
    })();
  },
};

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer({ logSources: [source], definitions: toCrds([Machine, Credential]) });
  await api.ask("POST", machines, {
    body: { apiVersion: "test.slipway.dev/v1", kind: "Machine", metadata: { name: "m" }, spec: {} },
  });
});
afterAll(() => api.close());

/** A person of this name who may get this and nothing else, in the namespace of the object: the token. */
async function allowed(user: string, resource: string): Promise<string> {
  const token = newToken();
  const rbac = "rbac.authorization.k8s.io";
  const roles = `/apis/${rbac}/v1/namespaces/default`;
  const rules = [{ apiGroups: [Machine.group], resources: [resource], verbs: ["get"] }];
  const object = (kind: string) => ({ apiVersion: `${rbac}/v1`, kind, metadata: { name: user } });
  const roleRef = { apiGroup: rbac, kind: "Role", name: user };
  const subjects = [{ apiGroup: rbac, kind: "User", name: user }];
  for (const [path, body] of [
    [
      "/apis/slipway.dev/v1alpha1/credentials",
      newCredential({ user, groups: [], form: "Token", sha256: credentialHash(token) }),
    ],
    [`${roles}/roles`, { ...object("Role"), rules }],
    [`${roles}/rolebindings`, { ...object("RoleBinding"), roleRef, subjects }],
  ] as const)
    expect((await api.ask("POST", path, { body })).status).toBe(201);
  return token;
}

describe("the log of an object that is no Pod", () => {
  test("is read by the name that its language has for a part, and as that of a Pod", async () => {
    for (const query of [
      "action=write&tailLines=3&timestamps=true&follow=1",
      "container=write&sinceTime=2026-01-01T00:00:00Z",
    ]) {
      const answer = await api.ask("GET", `${machines}/m/log?${query}`);
      expect([answer.status, answer.headers["content-type"], answer.text]).toEqual([200, "text/plain", "one\n"]);
    }
    expect(asked).toMatchObject([
      { name: "m", part: "write", request: { tailLines: 3, timestamps: true, follow: true } },
      { name: "m", part: "write", request: { sinceTime: "2026-01-01T00:00:00Z" } },
    ]);
  });

  test("is refused before the first byte", async () => {
    expect((await api.ask("GET", `${machines}/m/log?action=none`)).status).toBe(400);
    expect((await api.ask("GET", `${machines}/x/log`)).status).toBe(404);
    expect((await api.ask("GET", `${machines}/m/log?action=a&container=b`)).json).toMatchObject({
      message: "at most one of action and container may be set",
    });
    expect((await api.ask("GET", `${machines}/m/log?tailLines=-1`)).status).toBe(400);
    expect((await api.ask("POST", `${machines}/m/log`)).status).toBe(405);
  });

  test("is read in the server's own process, too", async () => {
    const client = api.server.client();
    const chunks: Uint8Array[] = [];
    for await (const chunk of client.logs({ type: Machine, namespace: "default", name: "m" }, { container: "own" }))
      chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("one\n");
    expect(asked.at(-1)).toMatchObject({ part: "own" });
  });

  test("is for whoever may read the log, and takes no right to the object, here and in the server's own process", async () => {
    const tokens = { reader: await allowed("reader", "machines/log"), owner: await allowed("owner", "machines") };
    const read = async (user: string): Promise<string> => {
      const parts: Uint8Array[] = [];
      const client = api.server.client({ user, groups: ["system:authenticated"] });
      for await (const part of client.logs({ type: Machine, namespace: "default", name: "m" }, { container: "own" }))
        parts.push(part);
      return Buffer.concat(parts).toString();
    };
    const get = async (user: "reader" | "owner", path: string) =>
      (await api.ask("GET", `${machines}${path}`, { token: tokens[user] })).status;
    expect(await get("reader", "/m/log?action=own")).toBe(200);
    expect(await get("reader", "/m")).toBe(403);
    expect(await get("reader", "")).toBe(403);
    expect(await read("reader")).toBe("one\n");
    expect(await get("owner", "/m")).toBe(200);
    expect(await get("owner", "/m/log")).toBe(403);
    await expect(read("owner")).rejects.toThrow(
      'machines.test.slipway.dev "m" is forbidden: User "owner" cannot get resource "machines/log" in API group "test.slipway.dev" in the namespace "default"',
    );
  });

  test("is not there for kinds that have none", async () => {
    expect((await api.ask("GET", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt/log")).status).toBe(404);
  });
});
