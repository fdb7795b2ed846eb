import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { ConfigMap } from "#kernel/model/index.ts";
import { exec, removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { type Api, type Json, openApi } from "./suite/api.ts";
import { startUnreliableServer, type UnreliableServer } from "./suite/unreliable-server.ts";

// 35. Pages whose history is forgotten between one and the next: 410 with a token that goes on at the present, to the end.

const count = 12;
const maps = "/api/v1/namespaces/default/configmaps";
const selected = "labelSelector=set%3Dpaged";

let directory: string;
let server: UnreliableServer;
let api: Api;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startUnreliableServer(directory);
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "x",
    clusters: [
      {
        name: "c",
        cluster: { server: server.url, "certificate-authority-data": Buffer.from(server.ca).toString("base64") },
      },
    ],
    users: [{ name: "u", user: { token: server.token } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  };
  await writeFile(join(directory, "kubeconfig"), JSON.stringify(kubeconfig), { mode: 0o600 });
  api = await openApi(join(directory, "kubeconfig"));
  for (let at = 10; at < 10 + count; at++) await write(`m${at}`);
});
afterAll(async () => {
  api.close();
  await server.close();
  await removeDirectory(directory);
});

const write = (name: string) =>
  server.client().create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", labels: { set: "paged" } },
  });
let touched = 0;
/** Another change, and no history before it. */
async function forget(): Promise<void> {
  const body = { metadata: { annotations: { touched: String((touched += 1)) } } };
  await server.client().patch({ type: ConfigMap, namespace: "default", name: "m10" }, { type: "merge", body });
  await server.forget();
}

const namesOf = (list: Json) =>
  (list["items"] as never as readonly Json[]).map((item) => String(item["metadata"]?.["name"]));
const all = Array.from({ length: count }, (_, at) => `m${10 + at}`);

test("a listing over HTTPS is told that its pages are too old, goes on with the token it gets, and misses nothing", async () => {
  const first = await api.ask("GET", `${maps}?${selected}&limit=5`);
  const seen = namesOf(first.json);
  let token = String(first.json["metadata"]?.["continue"]);
  let expiries = 0;
  while (token !== "undefined") {
    if (expiries === 0) await forget();
    const page = await api.ask("GET", `${maps}?${selected}&limit=5&continue=${encodeURIComponent(token)}`);
    if (page.status === 410) {
      expect(page.json).toMatchObject({
        kind: "Status",
        reason: "Expired",
        metadata: { continue: expect.any(String) },
      });
      expect(String(page.json["message"])).toMatch(/continue parameter is too old/);
      expiries += 1;
    } else {
      expect(page.status, page.text).toBe(200);
      seen.push(...namesOf(page.json));
    }
    token = String(page.json["metadata"]?.["continue"]);
  }
  expect(expiries).toBe(1);
  expect(seen).toEqual(all);
});

describe.each(inject("kubectls"))("kubectl $minor", ({ path }) => {
  const get = (chunk: number) =>
    exec(path, ["get", "configmaps", "-l", "set=paged", "-o", "name", `--chunk-size=${chunk}`], {
      env: { KUBECONFIG: join(directory, "kubeconfig"), HOME: directory },
    });
  const whole = all.map((name) => `configmap/${name}\n`).join("");

  test("--chunk-size prints all, in pages or not", async () => {
    expect(await get(2)).toMatchObject({ code: 0, out: whole });
    expect(await get(0)).toMatchObject({ code: 0, out: whole });
  });

  test("prints all or says why not while history is forgotten without end, and all without pages", async () => {
    const state = { isOver: false };
    const forgetting = (async () => {
      while (!state.isOver) await forget();
    })();
    const outcomes: string[] = [];
    // A page is sooner or later asked for after what it goes on from is forgotten.
    while (!outcomes.includes("refused")) {
      const { code, out, err } = await get(1);
      if (code === 0) expect(out).toBe(whole);
      else expect(err).toMatch(/continue parameter is too old|--chunk-size/);
      outcomes.push(code === 0 ? "whole" : "refused");
    }
    expect(await get(0)).toMatchObject({ code: 0, out: whole });
    state.isOver = true;
    await forgetting;
  });
});
