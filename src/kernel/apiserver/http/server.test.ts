import { get } from "node:https";
import { connect } from "node:tls";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Metrics } from "#kernel/kit/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { deferred, systemClock } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { loadX509 } from "#kernel/doors/index.ts";
import type { PodLogRequest } from "../verbs/sources.ts";
import { configMap, type Json, pod, startTestServer, type TestServer, waitUntil } from "../testing/index.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

const asked: PodLogRequest[] = [];
const podLogs = {
  async open(_pod: unknown, request: PodLogRequest) {
    asked.push(request);
    return (async function* () {
      yield Buffer.from("one\n");
      yield Buffer.from("two\n");
    })();
  },
};

let api: TestServer;
let troubles: string | undefined;
beforeAll(async () => {
  api = await startTestServer({ podLogs, health: { controllers: () => troubles } });
  await api.ask("POST", maps, { body: configMap("there", { data: { a: "1" } }) });
  await api.ask("POST", "/api/v1/namespaces/default/pods", { body: pod("p") });
});
afterAll(() => api.close());

test("a body that is packed is not unpacked: a small one may become very large", async () => {
  const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024, " "));
  for (const type of ["application/json", "application/yaml", "application/apply-patch+yaml"]) {
    const headers = { "Content-Type": type, "Content-Encoding": "gzip" };
    const [method, path] = type.includes("patch") ? ["PATCH", `${maps}/bomb?fieldManager=x`] : ["POST", maps];
    expect((await api.ask(method, path, { bytes: bomb, headers })).status).toBe(400);
  }
});

describe("forms of an answer", () => {
  test("JSON is the stored text", async () => {
    const answer = await api.ask("GET", `${maps}/there`);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json).toMatchObject({ kind: "ConfigMap", data: { a: "1" } });
    expect(answer.bytes).toEqual(
      api.store.get({ group: "", resource: "configmaps", namespace: "default", name: "there" })?.bytes,
    );
  });

  test("YAML says the same", async () => {
    for (const path of [`${maps}/there`, maps]) {
      const yaml = await api.ask("GET", path, { headers: { Accept: "application/yaml" } });
      const read = readYaml(yaml.text);
      expect(yaml.headers["content-type"]).toBe("application/yaml");
      expect(read.ok && read.value.documents[0]?.value).toEqual((await api.ask("GET", path)).json);
    }
  });

  test("YAML is read as well", async () => {
    const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\ndata:\n  on: 'yes'\n";
    const answer = await api.ask("POST", maps, {
      bytes: body,
      headers: { "Content-Type": "application/yaml; charset=utf-8" },
    });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.json["data"]).toEqual({ true: "yes" });
  });

  test("tables have rows of cells and as much of the object as was asked for", async () => {
    const get = async (query: string) =>
      (await api.ask("GET", `${maps}?fieldSelector=metadata.name%3Dthere${query}`, { headers: { Accept: table } }))
        .json;
    const list = await get("");
    expect(list).toMatchObject({
      kind: "Table",
      metadata: { resourceVersion: String(api.store.revision) },
      columnDefinitions: [{ name: "Name" }, { name: "Data" }, { name: "Age" }],
      rows: [
        {
          cells: ["there", 1, expect.any(String)],
          object: { kind: "PartialObjectMetadata", metadata: { name: "there" } },
        },
      ],
    });
    expect((await get("&includeObject=Object"))["rows"]).toMatchObject([
      { object: { kind: "ConfigMap", data: { a: "1" } } },
    ]);
    expect((await get("&includeObject=None"))["rows"]).toEqual([{ cells: ["there", 1, expect.any(String)] }]);
    const one = await api.ask("GET", `${maps}/there`, { headers: { Accept: table } });
    expect(one.headers["content-type"]).toBe(table);
    expect(one.json["rows"]).toHaveLength(1);
  });

  test("partial metadata of one and of many", async () => {
    const partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    const one = await api.ask("GET", `${maps}/there`, { headers: { Accept: partial } });
    expect(Object.keys(one.json)).toEqual(["kind", "apiVersion", "metadata"]);
    const many = await api.ask("GET", maps, { headers: { Accept: partial.replace("Metadata;", "MetadataList;") } });
    expect(many.json).toMatchObject({ kind: "PartialObjectMetadataList", items: expect.any(Array) });
    expect(many.text).not.toContain('"data"');
  });

  test("large answers are compressed for those who can read that", async () => {
    for (let index = 0; index < 12; index++) {
      const big = configMap(`big-${index}`, { data: { x: "x".repeat(30_000) } }, { namespace: "kube-public" });
      await api.client.create(ConfigMap, big);
    }
    const path = "/api/v1/namespaces/kube-public/configmaps";
    const plain = await api.ask("GET", path);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    const packed = await api.ask("GET", path, { headers: { "Accept-Encoding": "gzip" } });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 10);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    for (const refused of ["gzip;q=0", "br", "identity"]) {
      expect(
        (await api.ask("GET", path, { headers: { "Accept-Encoding": refused } })).headers["content-encoding"],
      ).toBeUndefined();
    }
    expect(
      (await api.ask("GET", `${maps}/there`, { headers: { "Accept-Encoding": "gzip" } })).headers["content-encoding"],
    ).toBeUndefined();
  });

  test("HEAD has the headers of GET and no body", async () => {
    const answer = await api.ask("HEAD", `${maps}/there`);
    expect(answer.status).toBe(200);
    expect(answer.bytes).toHaveLength(0);
    expect(Number(answer.headers["content-length"])).toBeGreaterThan(100);
  });
});

describe("every answer", () => {
  test("carries an id, the caller's if it gave one", async () => {
    expect((await api.ask("GET", "/version")).headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect((await api.ask("GET", "/version", { headers: { "X-Request-Id": "my-1" } })).headers["x-request-id"]).toBe(
      "my-1",
    );
    expect(
      (await api.ask("GET", "/version", { headers: { "X-Request-Id": "no good" } })).headers["x-request-id"],
    ).not.toBe("no good");
  });

  test("forbids guessing its type", async () => {
    expect((await api.ask("GET", "/version")).headers["x-content-type-options"]).toBe("nosniff");
  });
});

describe("version, health and paths", () => {
  test("the version is a Kubernetes minor and ours", async () => {
    expect((await api.ask("GET", "/version")).json).toMatchObject({
      major: "1",
      minor: "33",
      gitVersion: "v1.33.0+slipway.0.0.0",
    });
  });

  test("readyz lists its checks and fails with them, livez does not", async () => {
    expect((await api.ask("GET", "/readyz?verbose")).text).toBe(
      "[+]ping ok\n[+]store ok\n[+]discovery ok\n[+]controllers ok\nreadyz check passed\n",
    );
    troubles = "starting";
    const failed = await api.ask("GET", "/readyz");
    expect(failed.status).toBe(500);
    expect(failed.text).toContain("[-]controllers failed: starting");
    expect((await api.ask("GET", "/readyz/store")).status).toBe(200);
    expect((await api.ask("GET", "/readyz/controllers")).status).toBe(500);
    expect((await api.ask("GET", "/readyz/none")).status).toBe(404);
    expect((await api.ask("GET", "/livez")).text).toBe("ok");
    troubles = undefined;
    expect((await api.ask("POST", "/readyz")).status).toBe(405);
  });

  test("the root lists what there is", async () => {
    const { paths } = (await api.ask("GET", "/")).json;
    expect(paths).toEqual(expect.arrayContaining(["/api/v1", "/apis/batch", "/apis/batch/v1", "/readyz", "/metrics"]));
  });

  test("metrics count requests, unknown ones as other", async () => {
    await api.ask("GET", "/none");
    await api.ask("GET", `${maps}/there`);
    const { text, headers } = await api.ask("GET", "/metrics");
    expect(headers["content-type"]).toMatch(/^text\/plain/);
    expect(text).toMatch(
      /slipway_apiserver_requests_total\{verb="get",resource="configmaps",subresource="",code="200"\} \d+/,
    );
    expect(text).toMatch(
      /slipway_apiserver_requests_total\{verb="other",resource="other",subresource="",code="404"\} \d+/,
    );
    expect(text).toMatch(new RegExp(`slipway_store_revision ${api.store.revision}\\b`));
    expect(text).toContain('slipway_build_info{version="0.0.0"} 1');
    expect(text).not.toContain(api.token);
  });

  test("metrics tell of the store, of watches and of the event loop", async () => {
    await api.ask("GET", "/metrics");
    const watch = await api.watch(`${maps}?watch=1`);
    const { text } = await api.ask("GET", "/metrics");
    const stats = api.store.stats();
    for (const line of [
      `slipway_store_objects ${stats.objects}`,
      `slipway_store_bytes ${stats.bytes}`,
      `slipway_store_ring_events ${stats.ringEvents}`,
      `slipway_store_commits_total ${stats.commits}`,
      `slipway_store_commit_duration_seconds_count ${stats.commits}`,
      `slipway_store_commit_duration_seconds_bucket{le="+Inf"} ${stats.commits}`,
      "slipway_store_commit_failures_total 0",
      "slipway_store_forced_compactions_total 0",
      "slipway_store_batch_size 1",
      "slipway_store_compacted 0",
      'slipway_apiserver_watchers{resource="configmaps"} 1',
      'slipway_apiserver_inflight{kind="mutating"} 0',
      'slipway_apiserver_watch_dropped_total{reason="slow"} 0',
    ])
      expect(text).toContain(`${line}\n`);
    expect(text).toMatch(/^slipway_eventloop_lag_seconds\{quantile="0.99"\} [\d.e-]+$/m);
    expect(text).toMatch(
      /^slipway_apiserver_request_duration_seconds_bucket\{verb="get",resource="configmaps",le="0.5"\} \d+$/m,
    );
    watch.close();
  });

  test("metrics are for those who may ask", async () => {
    expect((await api.ask("GET", "/metrics", { token: false })).status).toBe(401);
  });
});

describe("logs of Pods", () => {
  const log = "/api/v1/namespaces/default/pods/p/log";

  test("come as plain text, of the only container", async () => {
    const answer = await api.ask(
      "GET",
      `${log}?tailLines=5&timestamps=true&follow=false&sinceSeconds=60&limitBytes=100&previous=true&stream=Stderr`,
    );
    expect(answer.headers["content-type"]).toBe("text/plain");
    expect(answer.text).toBe("one\ntwo\n");
    expect(asked.at(-1)).toMatchObject({
      container: "main",
      tailLines: 5,
      timestamps: true,
      sinceSeconds: 60,
      limitBytes: 100,
      previous: true,
      stream: "stderr",
    });
  });

  test("of a container that does not exist are refused with the names there are", async () => {
    const answer = await api.ask("GET", `${log}?container=other`);
    expect(answer.status).toBe(400);
    expect(String(answer.json["message"])).toContain("main");
  });

  test("of several containers need a name", async () => {
    const two = {
      ...pod("two"),
      spec: {
        containers: [
          { name: "a", image: "x" },
          { name: "b", image: "x" },
        ],
      },
    };
    await api.ask("POST", "/api/v1/namespaces/default/pods", { body: two });
    const answer = await api.ask("GET", "/api/v1/namespaces/default/pods/two/log");
    expect(answer.status).toBe(400);
    expect(String(answer.json["message"])).toContain("[a b]");
    expect((await api.ask("GET", "/api/v1/namespaces/default/pods/two/log?container=b")).text).toBe("one\ntwo\n");
  });

  test.each([
    "sinceSeconds=-1",
    "tailLines=x",
    "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
    "follow=perhaps",
    "stream=stdin",
  ])("%s is 400", async (query) => {
    expect((await api.ask("GET", `${log}?${query}`)).status).toBe(400);
  });

  test("of a Pod that does not exist are 404", async () => {
    expect((await api.ask("GET", "/api/v1/namespaces/default/pods/none/log")).status).toBe(404);
  });
});

describe("limits", () => {
  test("requests beyond the limit are refused with a time to come back, and the rest is served", async () => {
    const gate = deferred<void>();
    const slow = {
      open: async () =>
        (async function* () {
          await gate.promise;
          yield Buffer.from("x");
        })(),
    };
    const small = await startTestServer({ podLogs: slow, limits: { maxReadingRequests: 2 } });
    await small.ask("POST", "/api/v1/namespaces/default/pods", { body: pod("p") });
    const logs = [1, 2].map(() => small.ask("GET", "/api/v1/namespaces/default/pods/p/log?follow=true"));
    await waitUntil(async () => (await small.ask("GET", maps)).status === 429);
    expect((await small.ask("GET", maps)).headers["retry-after"]).toBe("1");
    expect((await small.ask("POST", maps, { body: configMap("a") })).status).toBe(201);
    gate.resolve();
    for (const answer of await Promise.all(logs)) expect(answer.text).toBe("x");
    expect((await small.ask("GET", maps)).status).toBe(200);
    await small.close();
  });

  test("bodies that do not come keep nobody from writing", async () => {
    const small = await startTestServer({ limits: { maxMutatingRequests: 2 } });
    const { port } = new URL(small.url);
    const head = `POST ${maps} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${small.token}\r\n`;
    const body = JSON.stringify(configMap("late"));
    const sockets = await Promise.all(
      [1, 2, 3].map(async () => {
        const socket = connect({ port: Number(port), host: "127.0.0.1", ca: small.ca, servername: "localhost" });
        await new Promise((resolve) => socket.once("secureConnect", resolve));
        socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n{`);
        return socket;
      }),
    );
    for (const name of ["a", "b", "c"]) {
      expect((await small.ask("POST", maps, { body: configMap(name) })).status).toBe(201);
    }
    // When it is whole at last, it is answered like any other.
    const [late] = sockets;
    const answer = new Promise((resolve) => late?.once("data", (bytes) => resolve(String(bytes).slice(0, 12))));
    late?.write(body.slice(1));
    expect(await answer).toBe("HTTP/1.1 201");
    for (const socket of sockets) socket.destroy();
    await small.close();
  });

  test("a change has its place while it is carried out, and gives it back", async () => {
    const metrics = new Metrics();
    const taken = () =>
      metrics
        .collect()
        .flatMap((family) => (family.type === "histogram" ? [] : family.samples.map((it) => ({ ...it, ...family }))))
        .find(({ name, labels }) => name === "slipway_apiserver_inflight" && labels["kind"] === "mutating")?.value;
    const [group, kind, plural, during] = ["demo.example.org", "Widget", "widgets", new Set<unknown>()];
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        names: { kind, plural, singular: "widget", listKind: "WidgetList" },
        scope: "Cluster",
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
    const validate = () => {
      during.add(taken());
      return { causes: [], warnings: [] };
    };
    const admissions = [{ group, kind, prepareForCreate: (object: Json) => object, validate }];
    const small = await startTestServer({ metrics, definitions: [definition], admissions });
    const body = { apiVersion: `${group}/v1`, kind, metadata: { name: "w" } };
    const answer = await small.ask("POST", `/apis/${group}/v1/${plural}`, { body });
    expect(answer.status, answer.text).toBe(201);
    expect([...during]).toEqual([1]);
    await waitUntil(() => taken() === 0);
    await small.close();
  });

  test("a client that leaves in the middle of its body harms nobody", async () => {
    const { port } = new URL(api.url);
    const socket = connect({ port: Number(port), host: "127.0.0.1", ca: api.ca, servername: "localhost" });
    await new Promise((resolve) => socket.once("secureConnect", resolve));
    socket.write(
      `POST ${maps} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"a`,
    );
    socket.destroy();
    expect((await api.ask("GET", "/readyz")).status).toBe(200);
  });

  test("a connection lives longer than the idle time of Go's clients", async () => {
    expect((await api.ask("GET", "/version")).headers["keep-alive"]).toBe("timeout=125");
  });
});

describe("closing", () => {
  test("ends watches normally and answers what is under way", async () => {
    const other = await startTestServer();
    const watch = await other.watch(`${maps}?watch=1`);
    await other.ask("POST", maps, { body: configMap("last") });
    const first: Json | undefined = await watch.next();
    expect(first).toMatchObject({ type: "ADDED" });
    const closing = other.server.close();
    expect(await watch.next()).toBeUndefined();
    await closing;
    await expect(other.ask("GET", "/version")).rejects.toThrow();
    await other.close();
  });

  test("listeners share limits and counts, and may close one by one", async () => {
    const other = await startTestServer({ limits: { maxWatches: 1 } });
    const now = systemClock.now();
    const { createAuthority, createServing } = await loadX509();
    const tls = await createServing(await createAuthority(now, "other"), ["localhost"], now);
    const second = await other.server.listen({ port: 0, tls });
    const watch = await other.watch(`${maps}?watch=1`);
    const status = await new Promise((resolve, reject) => {
      const headers = { Authorization: `Bearer ${other.token}` };
      const request = get(`${second.url}${maps}?watch=1`, { headers, rejectUnauthorized: false, agent: false });
      request.once("response", (response) => resolve(response.resume().statusCode));
      request.once("error", reject);
    });
    expect(status).toBe(429);
    await second.close();
    expect((await other.ask("GET", "/metrics")).text).toMatch(
      /requests_total\{verb="watch",resource="configmaps",subresource="",code="429"\} 1/,
    );
    watch.close();
    await other.close();
  });

  test("each listener answers for its own names, and all for those of loopback", async () => {
    const names = ["Build.Example", "2001:db8::1", "192.0.2.7"];
    const named = await api.server.listen({ port: 0, names, tls: api.serving });
    const all = await api.server.listen({ host: "0.0.0.0", port: 0, tls: api.serving });
    const codes = (port: number | string, ...hosts: readonly string[]) =>
      Promise.all(
        hosts.map(
          (Host) =>
            new Promise((resolve, reject) => {
              const where = { host: "127.0.0.1", port, path: "/version", headers: { Host } };
              get({ ...where, servername: "localhost", ca: api.ca, agent: false }, (response) =>
                resolve(response.resume().statusCode),
              ).once("error", reject);
            }),
        ),
      );
    const theirs = ["build.example:1", "[2001:db8::1]", "192.0.2.7"];
    expect(await codes(named.port, "localhost", ...theirs)).toEqual([200, 200, 200, 200]);
    expect(await codes(named.port, "2001:db8::1", "192.0.2.8")).toEqual([421, 421]);
    expect(await codes(new URL(api.url).port, ...theirs)).toEqual([421, 421, 421]);
    // No client is told to find a server there, but a page could tell a browser.
    expect(await codes(all.port, "127.0.0.1", "0.0.0.0")).toEqual([200, 421]);
    await Promise.all([named.close(), all.close()]);
  });

  test("a port in use is told as such", async () => {
    const { port } = new URL(api.url);
    const tls = { cert: "", key: "" };
    await expect(api.server.listen({ port: Number(port), tls })).rejects.toMatchObject({
      code: "listen-failed",
      message: expect.stringContaining("in use"),
    });
  });
});
