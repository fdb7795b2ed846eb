// Long, because one client meets everything a server, a proxy or a network may answer; the cases share their servers.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deferred, FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import { ConfigMap, isConflict, isForbidden, isGone, isTransient, Pod } from "#kernel/model/index.ts";
import type { ApiClient, WatchEvent } from "./api-client.ts";
import { type Connection, fixedCredential, type HttpClientConfig } from "./client-config.ts";
import { createHttpClient } from "./http-client.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A server that answers with what a test says, request by request. */
class ScriptedServer {
  readonly seen: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage["headers"];
    readonly body: string;
  }[] = [];
  handler: Handler = (_request, response) => answer(response, 200, {});
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      this.seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      this.handler(request, response, body);
    });
  });

  listen(at: number | string = 0): Promise<void> {
    return new Promise((resolve) => {
      if (typeof at === "number") this.#server.listen(at, "127.0.0.1", resolve);
      else this.#server.listen(at, resolve);
    });
  }

  get url(): string {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : "";
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", resourceVersion: "1", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
  ...more,
});
const status = (code: number, reason: string, more: object = {}) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: `refused: ${reason}`,
  reason,
  code,
  ...more,
});
const ref = { type: ConfigMap, namespace: "default", name: "a" };
const never = new AbortController().signal;

let server: ScriptedServer;
let client: ApiClient;
const opened: ApiClient[] = [];

function connect(more: Partial<HttpClientConfig> = {}, connection: Partial<Connection> = {}): ApiClient {
  const made = createHttpClient({
    clock: systemClock,
    log: silentLog,
    random: () => 0,
    connection: { server: server.url, credentials: fixedCredential({}), ...connection },
    ...more,
  });
  opened.push(made);
  return made;
}

beforeEach(async () => {
  server = new ScriptedServer();
  await server.listen();
  client = connect();
});
afterEach(async () => {
  for (const made of opened.splice(0)) await made.close();
  await server.close();
});

describe("requests", () => {
  test("paths, queries and bodies are those of a Kubernetes API", async () => {
    server.handler = (_request, response) => answer(response, 200, configMap("a"));
    await client.get({ ...ref, name: "with space" });
    await client.create(ConfigMap, configMap("a"), { dryRun: true, fieldManager: "me", fieldValidation: "Strict" });
    await client.updateStatus(ConfigMap, configMap("a"));
    await client.patch(ref, { type: "merge", body: { data: {} } }, { subresource: "status" });
    await client.patch(ref, { type: "json", operations: [{ op: "remove", path: "/data" }] });
    await client.patch(ref, { type: "strategic", body: {} });
    await client.patch(ref, { type: "apply", body: {}, force: true }, { fieldManager: "me" });
    await client.patch(ref, { type: "apply", body: {}, force: false }, { fieldManager: "me" });
    await client.delete(ref, {
      propagationPolicy: "Background",
      gracePeriodSeconds: 0,
      preconditions: { uid: "u" },
      dryRun: true,
    });
    await client.deleteCollection(ConfigMap, { namespace: "default", labelSelector: "a in (b,c)", limit: 5 });
    const path = "/api/v1/namespaces/default/configmaps";
    expect(server.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `GET ${path}/with%20space`,
      `POST ${path}?dryRun=All&fieldManager=me&fieldValidation=Strict`,
      `PUT ${path}/a/status`,
      `PATCH ${path}/a/status`,
      `PATCH ${path}/a`,
      `PATCH ${path}/a`,
      `PATCH ${path}/a?fieldManager=me&force=true`,
      `PATCH ${path}/a?fieldManager=me`,
      `DELETE ${path}/a`,
      `DELETE ${path}?labelSelector=a%20in%20(b%2Cc)`,
    ]);
    expect(server.seen.map(({ headers }) => headers["content-type"])).toEqual([
      undefined,
      "application/json",
      "application/json",
      "application/merge-patch+json",
      "application/json-patch+json",
      "application/strategic-merge-patch+json",
      "application/apply-patch+yaml",
      "application/apply-patch+yaml",
      "application/json",
      "application/json",
    ]);
    expect(server.seen[4]?.body).toBe('[{"op":"remove","path":"/data"}]');
    expect(JSON.parse(server.seen[8]?.body ?? "")).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Background",
      gracePeriodSeconds: 0,
      preconditions: { uid: "u" },
      dryRun: ["All"],
    });
  });

  test("connections are kept and used again", async () => {
    const ports = new Set<number | undefined>();
    server.handler = (request, response) => {
      ports.add(request.socket.remotePort);
      answer(response, 200, configMap("a"));
    };
    for (let index = 0; index < 5; index++) await client.get(ref);
    expect(ports.size).toBe(1);
  });

  test("who asks is in the headers", async () => {
    server.handler = (_request, response) => answer(response, 200, configMap("a"));
    await connect({ userAgent: "slipway/1.2.3" }, { credentials: fixedCredential({ token: "secret" }) }).get(ref);
    const basic = fixedCredential({ basic: { username: "u", password: "pä" } });
    await connect({}, { credentials: basic, impersonate: { user: "jane", uid: "7", groups: ["a", "b"] } }).get(ref);
    expect(server.seen[0]?.headers).toMatchObject({ authorization: "Bearer secret", "user-agent": "slipway/1.2.3" });
    expect(server.seen[1]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from("u:pä").toString("base64")}`,
      "impersonate-user": "jane",
      "impersonate-uid": "7",
      "impersonate-group": "a, b",
    });
  });

  test("a server may live below a path and behind a Unix socket", async () => {
    const folder = await mkdtemp(join(tmpdir(), "kit-"));
    const local = new ScriptedServer();
    const socketPath = join(folder, "s");
    await local.listen(socketPath);
    local.handler = (_request, response) => answer(response, 200, configMap("a"));
    const { metadata } = await connect({}, { server: "http://slipway/base/", socketPath }).get(ref);
    expect(metadata.name).toBe("a");
    expect(local.seen[0]?.url).toBe("/base/api/v1/namespaces/default/configmaps/a");
    await local.close();
    await rm(folder, { recursive: true });
  });

  test("answers are frozen and keep what is not known", async () => {
    server.handler = (_request, response) =>
      answer(
        response,
        200,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","odd":[1.5]},"__proto__":{"x":1}}',
      );
    const object = await client.get(ref);
    expect(JSON.stringify(object)).toContain('"__proto__":{"x":1}');
    expect(Object.isFrozen(object.metadata)).toBe(true);
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  });

  test("an integer that cannot be kept is an error and not another integer", async () => {
    server.handler = (_request, response) =>
      answer(response, 200, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"n":9007199254740993}}');
    await expect(client.get(ref)).rejects.toMatchObject({ code: "malformed-answer" });
  });
});

describe("lists", () => {
  const page = (names: readonly string[], token?: string) => ({
    kind: "ConfigMapList",
    apiVersion: "v1",
    metadata: { resourceVersion: "7", ...(token === undefined ? {} : { continue: token }) },
    items: names.map((name) => ({ metadata: { name } })),
  });

  test("all pages are read as one list, whose items say what they are", async () => {
    server.handler = ({ url = "" }, response) =>
      answer(response, 200, url.includes("continue=t1") ? page(["b"]) : page(["a"], "t1"));
    const list = await client.list(ConfigMap, { resourceVersion: "0", labelSelector: "x" });
    expect(list.items).toMatchObject([
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" } },
    ]);
    expect(list.metadata).toEqual({ resourceVersion: "7" });
    expect(Object.isFrozen(list.items)).toBe(true);
    expect(server.seen.map(({ url }) => url)).toEqual([
      "/api/v1/configmaps?labelSelector=x&resourceVersion=0&limit=500",
      "/api/v1/configmaps?labelSelector=x&limit=500&continue=t1",
    ]);
  });

  test("a listing that outlives its revision begins again", async () => {
    let tokens = 0;
    server.handler = ({ url = "" }, response) => {
      if (!url.includes("continue")) return answer(response, 200, page(["a"], `t${++tokens}`));
      return url.includes("t1") ? answer(response, 410, status(410, "Expired")) : answer(response, 200, page(["b"]));
    };
    expect((await client.list(ConfigMap)).items).toHaveLength(2);
    expect(server.seen).toHaveLength(4);
  });

  test("one that always does is asked for in one piece at last", async () => {
    server.handler = ({ url = "" }, response) => {
      if (url.includes("continue")) return answer(response, 410, status(410, "Expired"));
      return answer(response, 200, url.includes("limit") ? page(["a"], "t") : page(["a", "b", "c"]));
    };
    expect((await client.list(ConfigMap)).items).toHaveLength(3);
  });

  test("with a limit one page is answered, with its token", async () => {
    server.handler = (_request, response) => answer(response, 200, page(["a"], "t1"));
    const list = await client.list(ConfigMap, { limit: 1 });
    expect(list.metadata.continue).toBe("t1");
    expect(server.seen).toHaveLength(1);
  });

  test("an empty list of a server that says null is empty", async () => {
    server.handler = (_request, response) => answer(response, 200, { ...page([]), items: null });
    expect((await client.list(ConfigMap)).items).toEqual([]);
  });
});

describe("refusals", () => {
  test("a Status is an ApiError with everything it says", async () => {
    const details = { name: "a", kind: "configmaps", causes: [{ field: "data", message: "bad" }] };
    server.handler = (_request, response) => answer(response, 409, status(409, "Conflict", { details }));
    const refused = client.update(ConfigMap, configMap("a"));
    await expect(refused).rejects.toSatisfy(isConflict);
    await expect(refused).rejects.toMatchObject({ message: "refused: Conflict", code: 409, details });
  });

  test.each([
    [403, "<html>go away</html>", isForbidden, "the server answered 403: <html>go away</html>"],
    [502, "bad gateway", isTransient, "the server answered 502: bad gateway"],
    [410, "", isGone, "the server answered 410"],
  ])("an answer %d that is no Status is a refusal, too", async (code, body, is, message) => {
    server.handler = (_request, response) => answer(response, code, body);
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toSatisfy(is);
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toThrow(message);
  });

  test.each([
    ["text", "hello"],
    ["a list", "[]"],
    ["half a document", '{"kind":"ConfigMap"'],
    ["an object that is none of Kubernetes'", '{"hello":"world"}'],
  ])("a good answer with %s is told to be from no Kubernetes API", async (_what, body) => {
    server.handler = (_request, response) => answer(response, 200, body);
    await expect(client.get(ref)).rejects.toMatchObject({ code: "malformed-answer", hint: expect.any(String) });
  });
});

describe("failures and retries", () => {
  test("nobody listening says so and asks whether the server runs", async () => {
    // A port that was free a moment ago may be somebody else's by now; this one nobody has.
    const url = "http://127.0.0.1:1";
    const refused = connect({}, { server: url }).get(ref);
    await expect(refused).rejects.toMatchObject({
      code: "connection-refused",
      message: `no server listens at ${url}`,
      hint: "is `slipway up` running?",
    });
  });

  test("an unknown host and a server without TLS are told apart", async () => {
    await expect(connect({}, { server: "http://no-such-host.invalid" }).get(ref)).rejects.toMatchObject({
      code: "host-unknown",
    });
    const asTls = connect({}, { server: server.url.replace("http:", "https:") });
    await expect(asTls.get(ref)).rejects.toMatchObject({ code: "not-tls" });
  });

  const breakFirst = (count: number): Handler => {
    let broken = 0;
    return (request, response) =>
      broken++ < count ? void request.socket.destroy() : answer(response, 200, configMap("a"));
  };

  test("a broken connection is tried again for what may be repeated", async () => {
    server.handler = breakFirst(2);
    await client.get(ref);
    expect(server.seen).toHaveLength(3);
    server.handler = breakFirst(1);
    await client.update(ConfigMap, configMap("a"));
    expect(server.seen).toHaveLength(5);
  });

  test.each([
    ["create", () => client.create(ConfigMap, configMap("a"))],
    ["patch", () => client.patch(ref, { type: "merge", body: {} })],
    ["delete", () => client.delete(ref)],
  ])("a %s whose connection broke is not sent again", async (_verb, send) => {
    server.handler = breakFirst(1);
    await expect(send()).rejects.toMatchObject({ code: "connection-failed" });
    expect(server.seen).toHaveLength(1);
  });

  test("a server that is busy is asked again when it says, five times at most", async () => {
    const clock = new FakeClock();
    server.handler = (_request, response) =>
      answer(response, 429, status(429, "TooManyRequests"), { "retry-after": "2" });
    const patient = connect({ clock });
    const refused = patient.get(ref);
    refused.catch(() => undefined);
    for (let second = 0; second < 20; second++) {
      await expect.poll(() => server.seen.length).toBeGreaterThanOrEqual(Math.min(5, 1 + Math.floor(second / 2)));
      await clock.advance(1000);
    }
    await expect(refused).rejects.toMatchObject({ reason: "TooManyRequests", details: { retryAfterSeconds: 2 } });
    expect(server.seen).toHaveLength(5);
  });

  test("a busy server is not asked again for what is not idempotent, nor when it names no time", async () => {
    server.handler = (_request, response) =>
      answer(response, 503, status(503, "ServiceUnavailable"), { "retry-after": "0" });
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toSatisfy(isTransient);
    server.handler = (_request, response) => answer(response, 503, status(503, "ServiceUnavailable"));
    await expect(client.get(ref)).rejects.toSatisfy(isTransient);
    expect(server.seen).toHaveLength(2);
  });

  test("a request that is given up, or whose client is closed, while its credentials are looked for is not sent", async () => {
    server.handler = () => undefined;
    const looked = [deferred<object>(), deferred<object>()];
    const waiting = [...looked];
    const credentials = { get: () => waiting.shift()?.promise ?? Promise.resolve({}), refused: () => false };
    const slow = connect({}, { credentials });
    const end = new AbortController();
    const watching = slow.raw("/given-up", { signal: end.signal });
    await expect.poll(() => waiting.length).toBe(1);
    const reading = slow.raw("/closed");
    await expect.poll(() => waiting.length).toBe(0);
    const reason = new Error("not wanted any more");
    end.abort(reason);
    looked[0]?.resolve({});
    await expect(watching).rejects.toBe(reason);
    await slow.close();
    looked[1]?.resolve({});
    await expect(reading).rejects.toMatchObject({ code: "client-closed" });
    expect(server.seen).toEqual([]);
  });

  test("refused credentials are asked for once more", async () => {
    let token = 0;
    const credentials = { get: () => Promise.resolve({ token: `t${++token}` }), refused: () => true };
    server.handler = ({ headers }, response) =>
      headers.authorization === "Bearer t2"
        ? answer(response, 200, configMap("a"))
        : answer(response, 401, status(401, "Unauthorized"));
    const renewing = connect({}, { credentials });
    await renewing.get(ref);
    await expect(renewing.get(ref)).rejects.toMatchObject({ reason: "Unauthorized" });
    expect(server.seen).toHaveLength(4);
  });

  test("an answer that does not come is waited for as long as the limit says", async () => {
    const clock = new FakeClock();
    server.handler = () => undefined;
    const waiting = connect({ clock, requestTimeoutMs: 5000 }).create(ConfigMap, configMap("a"));
    waiting.catch(() => undefined);
    await expect.poll(() => server.seen.length).toBe(1);
    await clock.advance(5000);
    await expect(waiting).rejects.toMatchObject({ code: "request-timeout", message: expect.stringContaining("5 s") });
  });

  test("a server that switches to another protocol has not answered", async () => {
    server.handler = ({ socket }) =>
      void socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n");
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toThrow("closed without an answer");
  });

  test("a request ends with its signal's reason, before, while waiting and while reading", async () => {
    const reason = new Error("enough");
    await expect(client.get(ref, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    for (const handler of [
      () => undefined,
      (_: unknown, response: ServerResponse) => void response.writeHead(200).write("{"),
    ]) {
      server.handler = handler;
      server.seen.length = 0;
      const abort = new AbortController();
      const waiting = client.get(ref, { signal: abort.signal });
      waiting.catch(() => undefined);
      await expect.poll(() => server.seen.length).toBe(1);
      abort.abort(reason);
      await expect(waiting).rejects.toBe(reason);
    }
  });

  test("requests beyond the rate limit wait their turn; loopback has none", async () => {
    const clock = new FakeClock();
    server.handler = (_request, response) => answer(response, 200, configMap("a"));
    const limited = connect({ clock, rateLimit: { perSecond: 1, burst: 2 } });
    let done = 0;
    const all = Array.from({ length: 4 }, () => limited.get(ref).then(() => done++));
    await expect.poll(() => done).toBe(2);
    await clock.advance(1000);
    await expect.poll(() => done).toBe(3);
    await clock.advance(1000);
    await Promise.all(all);
    await Promise.all(Array.from({ length: 150 }, () => client.get(ref)));
  });

  test("a closed client ends what it does and does nothing more", async () => {
    server.handler = () => undefined;
    const waiting = client.get(ref);
    waiting.catch(() => undefined);
    await expect.poll(() => server.seen.length).toBe(1);
    await client.close();
    await expect(waiting).rejects.toMatchObject({ code: "client-closed" });
    await expect(client.get(ref)).rejects.toMatchObject({ code: "client-closed" });
  });
});

describe("watches", () => {
  const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
  const collect = async (signal = never) => {
    const events: WatchEvent[] = [];
    for await (const event of client.watch(ConfigMap, { namespace: "default", resourceVersion: "5", signal }))
      events.push(event);
    return events;
  };

  test("the query says all that was asked for", async () => {
    server.handler = (_request, response) => response.end();
    const options = {
      labelSelector: "a=b",
      resourceVersion: "5",
      allowBookmarks: true,
      sendInitialEvents: true,
      resourceVersionMatch: "NotOlderThan",
      timeout: 1500,
      signal: never,
    } as const;
    for await (const event of client.watch(ConfigMap, options)) expect(event).toBeUndefined();
    expect(server.seen[0]?.url).toBe(
      "/api/v1/configmaps?watch=1&labelSelector=a%3Db&resourceVersion=5&resourceVersionMatch=NotOlderThan" +
        "&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=2",
    );
  });

  test("events come one by one however the bytes are cut", async () => {
    const text = line("ADDED", configMap("a", { data: { text: "grüße 🎉" } })) + line("BOOKMARK", configMap("b"));
    server.handler = (_request, response) => {
      const bytes = Buffer.from(text);
      let at = 0;
      const next = (): void => {
        if (at >= bytes.length) return void response.end();
        response.write(bytes.subarray(at, (at += 7)), () => setImmediate(next));
      };
      next();
    };
    const events = await collect();
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
    expect(events[0]?.object).toMatchObject({ data: { text: "grüße 🎉" } });
    expect(Object.isFrozen(events[0]?.object.metadata)).toBe(true);
  });

  test("events arrive before the watch ends", async () => {
    server.handler = (_request, response) => void response.write(line("ADDED", configMap("a")));
    const abort = new AbortController();
    const iterator = client.watch(ConfigMap, { signal: abort.signal })[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ type: "ADDED" });
    const next = iterator.next();
    abort.abort();
    expect((await next).done).toBe(true);
  });

  test("an ERROR event is the refusal it carries", async () => {
    server.handler = (_request, response) => response.end(line("ERROR", status(410, "Expired")));
    await expect(collect()).rejects.toSatisfy(isGone);
  });

  test("a refusal instead of a stream is the same refusal", async () => {
    server.handler = (_request, response) => answer(response, 410, status(410, "Gone"));
    await expect(collect()).rejects.toSatisfy(isGone);
  });

  test.each([
    ["no JSON", "{oops}\n"],
    ["no object", "[]\n"],
    ["an unknown type", line("RENAMED", configMap("a"))],
    ["no Kubernetes object", line("ADDED", {})],
    ["half an event", '{"type":"ADDED"'],
    ["an ERROR without a Status", line("ERROR", {})],
  ])("a line with %s ends the watch with an error", async (_what, text) => {
    server.handler = (_request, response) => response.end(line("ADDED", configMap("a")) + text);
    await expect(collect()).rejects.toMatchObject({ code: "malformed-answer" });
  });

  test("a connection that breaks is an error and not an end", async () => {
    server.handler = (request, response) => {
      response.write(line("ADDED", configMap("a")), () => setImmediate(() => request.socket.destroy()));
    };
    await expect(collect()).rejects.toMatchObject({ code: "connection-failed" });
  });

  test("leaving the loop ends the connection", async () => {
    let isClosed = false;
    server.handler = (_request, response) => {
      response.on("close", () => (isClosed = true));
      response.write(line("ADDED", configMap("a")));
    };
    for await (const event of client.watch(ConfigMap, { signal: never })) {
      expect(event.type).toBe("ADDED");
      break;
    }
    await expect.poll(() => isClosed).toBe(true);
  });

  test("closing the client ends a watch with that reason", async () => {
    server.handler = (_request, response) => void response.write(line("ADDED", configMap("a")));
    const iterator = client.watch(ConfigMap, { signal: never })[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    await client.close();
    await expect(next).rejects.toMatchObject({ code: "client-closed" });
  });
});

describe("logs and raw paths", () => {
  test("a log is a stream of bytes with the options asked for", async () => {
    server.handler = (_request, response) => response.end(Buffer.from([0x6f, 0x6b, 0x0a, 0xff]));
    const pod = { type: Pod, namespace: "default", name: "p" };
    const chunks: Uint8Array[] = [];
    const options = { container: "c", follow: true, tailLines: 0, timestamps: false };
    for await (const chunk of client.logs(pod, options)) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString("hex")).toBe("6f6b0aff");
    expect(server.seen[0]?.url).toBe(
      "/api/v1/namespaces/default/pods/p/log?container=c&follow=true&timestamps=false&tailLines=0",
    );
  });

  test("a raw path answers with its text", async () => {
    server.handler = (_request, response) => response.end("ok");
    expect(await client.raw("/readyz?verbose")).toBe("ok");
    expect(server.seen[0]?.url).toBe("/readyz?verbose");
  });
});

describe("discovery", () => {
  const apps = {
    version: "v1",
    resources: [
      {
        resource: "deployments",
        responseKind: { kind: "Deployment" },
        scope: "Namespaced",
        shortNames: ["deploy"],
        singularResource: "deployment",
        categories: ["all"],
      },
    ],
  };
  const core = { version: "v1", resources: [{ resource: "nodes", responseKind: { kind: "Node" }, scope: "Cluster" }] };
  const group = (name: string | undefined, ...versions: object[]) => ({
    metadata: name === undefined ? {} : { name },
    versions,
  });
  const aggregated = (...items: object[]) => ({
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    items,
  });

  test("the aggregated documents are read once, and again when a kind is missing", async () => {
    const groups = [group("apps", apps)];
    server.handler = ({ url }, response) =>
      answer(response, 200, url === "/api" ? aggregated(group(undefined, core)) : aggregated(...groups));
    const deployment = {
      group: "apps",
      version: "v1",
      kind: "Deployment",
      plural: "deployments",
      namespaced: true,
      singular: "deployment",
      shortNames: ["deploy"],
      categories: ["all"],
    };
    expect(await client.resourceType("apps/v1", "Deployment")).toEqual(deployment);
    expect(await client.resourceType("v1", "Node")).toEqual({
      group: "",
      version: "v1",
      kind: "Node",
      plural: "nodes",
      namespaced: false,
    });
    expect(server.seen).toHaveLength(2);
    expect(server.seen[0]?.headers.accept).toContain("as=APIGroupDiscoveryList");
    groups.push(
      group("new.dev", {
        version: "v1",
        resources: [{ resource: "things", responseKind: { kind: "Thing" }, scope: "Cluster" }],
      }),
    );
    expect(await client.resourceType("new.dev/v1", "Thing")).toMatchObject({ plural: "things" });
    expect(await client.resourceType("new.dev/v1", "Nothing")).toBeUndefined();
    expect(await client.resourceTypes()).toHaveLength(3);
  });

  test("a server without them is read document by document", async () => {
    const documents: Record<string, object> = {
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/apis": {
        kind: "APIGroupList",
        groups: [{ name: "apps", versions: [{ groupVersion: "apps/v1", version: "v1" }] }],
      },
      "/api/v1": {
        kind: "APIResourceList",
        resources: [
          { name: "pods", kind: "Pod", namespaced: true, singularName: "pod" },
          { name: "pods/log", kind: "Pod", namespaced: true },
        ],
      },
      "/apis/apps/v1": {
        kind: "APIResourceList",
        resources: [
          { name: "deployments", kind: "Deployment", namespaced: true, singularName: "", shortNames: ["deploy"] },
        ],
      },
    };
    server.handler = ({ url = "" }, response) => answer(response, 200, documents[url] ?? {});
    expect(await client.resourceTypes()).toEqual([
      { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true, singular: "pod" },
      {
        group: "apps",
        version: "v1",
        kind: "Deployment",
        plural: "deployments",
        namespaced: true,
        shortNames: ["deploy"],
      },
    ]);
  });
});
