import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogRequest } from "#kernel/logs/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import { kind, s, toCrds } from "#lib/schema/index.ts";
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
  api = await startTestServer({ logSources: [source], definitions: toCrds([Machine]) });
  await api.ask("POST", machines, {
    body: { apiVersion: "test.slipway.dev/v1", kind: "Machine", metadata: { name: "m" }, spec: {} },
  });
});
afterAll(() => api.close());

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

  test("is not there for kinds that have none", async () => {
    expect((await api.ask("GET", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt/log")).status).toBe(404);
  });
});
