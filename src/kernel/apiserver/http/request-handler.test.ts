import { once } from "node:events";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type LogFields, type Logger, silentLog } from "#lib/base/index.ts";
import { configMap, pod, startTestServer, type TestServer } from "../testing/index.ts";
import { Turns } from "../verbs/turns.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const errors: { readonly message: string; readonly fields: LogFields | undefined }[] = [];
const log: Logger = {
  ...silentLog,
  error: (message, fields) => void errors.push({ message, fields }),
  with: () => log,
};
const podLogs = {
  open: () => {
    throw new TypeError("a bug in a handler");
  },
};

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer({ log, podLogs, limits: { maxBodyBytes: 1000 } });
  await api.ask("POST", "/api/v1/namespaces/default/pods", { body: pod("p") });
});
afterAll(() => api.close());

describe("what is wrong is judged in this order", () => {
  const everything = { Host: "evil.example", Origin: "https://evil.example", Authorization: "Bearer wrong" };
  test.each<[string, string, string, Record<string, string>, number]>([
    ["the host before all", "GET", "/api/v1/things/../x", everything, 421],
    ["the origin before the URL", "GET", `/${"x".repeat(9000)}`, { ...everything, Host: "localhost" }, 403],
    ["the URL before credentials", "GET", `/${"x".repeat(9000)}`, { Authorization: "Bearer wrong" }, 414],
    ["credentials before the route", "GET", "/api/v1/things", { Authorization: "Bearer wrong" }, 401],
    ["the path before the kind", "GET", "/api/v1/namespaces/%zz/things", {}, 400],
    ["the method before the body", "PUT", maps, { "Content-Type": "text/plain" }, 405],
    ["the Accept header before the body", "POST", maps, { Accept: "text/html", "Content-Type": "text/plain" }, 406],
    ["the type of the body before its text", "POST", maps, { "Content-Type": "text/plain" }, 415],
  ])("%s", async (_what, method, path, headers, code) => {
    const bytes = method === "GET" ? {} : { bytes: "not a body" };
    expect((await api.ask(method, path, { headers, ...bytes })).status).toBe(code);
  });

  test("health and version are open to everybody, but not to every host", async () => {
    for (const path of ["/healthz", "/livez", "/readyz", "/version"]) {
      expect((await api.ask("GET", path, { token: false })).status).toBe(200);
      expect((await api.ask("HEAD", path, { token: false })).status).toBe(200);
      expect((await api.ask("GET", path, { token: false, headers: { Host: "evil.example" } })).status).toBe(421);
      const wrong = await api.ask("POST", path, { token: false });
      expect([wrong.status, wrong.headers["allow"]]).toEqual([405, "GET"]);
    }
  });

  test.each(["/", "/metrics", "/api", "/apis/batch/v1", "/openapi/v3", "/none", maps])(
    "%s needs credentials",
    async (path) => {
      const answer = await api.ask("GET", path, { token: false });
      expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    },
  );

  test.each([
    "/none",
    "/swagger.json",
    "/api/v1/watch/pods",
    "/.well-known/openid-configuration",
    "/apis/none.example/v1",
  ])("%s is not found", async (path) => {
    expect((await api.ask("GET", path)).json).toMatchObject({ kind: "Status", code: 404, reason: "NotFound" });
  });

  test.each(["/api", "/apis", "/openapi/v3"])("%s is for reading", async (path) => {
    const answer = await api.ask("POST", path, { body: {} });
    expect([answer.status, answer.headers["allow"]]).toEqual([405, "GET"]);
  });
});

test.each([
  ["a short URL is read at once", 700, 0, 200],
  ["a long one when it has its share of the loop", 1600, 1, 200],
  ["one that is refused as well", 6000, 1, 400],
  ["but not one that is too long to be read", 9000, 0, 414],
])("%s", async (_, length, shares, code) => {
  const share = vi.spyOn(Turns.prototype, "share").mockClear();
  const answer = await api.ask("GET", `${maps}?labelSelector=${"a,".repeat(length / 2)}a`);
  expect([answer.status, share.mock.calls.length]).toEqual([code, shares]);
  share.mockRestore();
});

describe("a refusal is laid out like any other answer", () => {
  test.each<[string, Record<string, string>, boolean]>([
    [`${maps}/none?pretty=true`, {}, true],
    [`${maps}/none`, { "User-Agent": "curl/8.5.0" }, true],
    [`${maps}/none?pretty=false`, { "User-Agent": "curl/8.5.0" }, false],
    [`${maps}/none`, { "User-Agent": "kubectl/v1.33.0" }, false],
    [`${maps}?pretty=true`, { Authorization: "Bearer wrong" }, true],
    [`${maps}?pretty=true`, { Host: "evil.example" }, true],
    [`/${"x".repeat(9000)}?pretty=true`, {}, false],
  ])("%.60s %j: %j", async (path, headers, isLaidOut) => {
    const { json, text, status } = await api.ask("GET", path, { headers });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text.trimEnd()).toBe(JSON.stringify(json, undefined, isLaidOut ? 2 : undefined));
  });
});

describe("a bug in a handler", () => {
  test("is a 500 with its words, its stack in the log, and no end of the server", async () => {
    const answer = await api.ask("GET", "/api/v1/namespaces/default/pods/p/log");
    expect(answer.json).toMatchObject({
      code: 500,
      reason: "InternalError",
      message: "Internal error occurred: a bug in a handler",
    });
    expect(answer.text).not.toContain("request-handler");
    expect(errors.at(-1)).toMatchObject({
      message: "request failed",
      fields: { path: "/api/v1/namespaces/default/pods/p/log" },
    });
    expect(errors.at(-1)?.fields?.["error"]).toBeInstanceOf(TypeError);
    expect((await api.ask("GET", "/readyz")).status).toBe(200);
  });

  test("is logged, and what clients do wrong is not", async () => {
    const before = errors.length;
    await api.ask("GET", `${maps}/none`);
    await api.ask("POST", maps, { bytes: "{", headers: { "Content-Type": "application/json" } });
    expect(errors).toHaveLength(before);
  });
});

describe("a connection", () => {
  /** Sends raw bytes and gives all that comes back until the other side closes. */
  async function talk(text: string, { url, ca } = api): Promise<string> {
    const socket = connect({
      port: Number(new URL(url).port),
      host: "127.0.0.1",
      ca,
      servername: "localhost",
    });
    await once(socket, "secureConnect");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", () => undefined);
    socket.write(text);
    await once(socket, "close");
    return Buffer.concat(chunks).toString();
  }
  const headOf = ({ token }: TestServer, method: string, path: string, ...more: readonly string[]) =>
    [`${method} ${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${token}`, ...more, "", ""].join("\r\n");
  const head = (method: string, path: string, ...more: readonly string[]) => headOf(api, method, path, ...more);

  test("is used for the next request", async () => {
    const answers = await talk(head("GET", "/readyz") + head("GET", "/readyz", "Connection: close"));
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  test("whose body is refused before it was read is not: the rest must not be taken for a request", async () => {
    const smuggled = head("DELETE", `${maps}/kube-root-ca.crt`);
    const answers = await talk(
      `${head("POST", maps, "Content-Type: application/json", "Content-Length: 5000")}${smuggled}`,
    );
    expect(answers).toMatch(/^HTTP\/1\.1 413 /);
    expect(answers).toMatch(/^Connection: close\r$/im);
    expect(answers.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test("whose short body is refused before it was read is used again when the rest has come", async () => {
    const post = head("POST", "/api/v1/things", "Content-Length: 600");
    const answers = await talk(`${post}${"x".repeat(600)}${head("GET", "/readyz", "Connection: close")}`);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 404", "HTTP/1.1 200"]);
  });

  test("is used again after JSON that was refused in the middle of it", async () => {
    const deep = await startTestServer();
    const post = headOf(deep, "POST", maps, "Content-Type: application/json", "Content-Length: 200000");
    const rest = headOf(deep, "GET", "/readyz", "Connection: close");
    const answers = await talk(`${post}${"[".repeat(200_000)}${rest}`, deep);
    await deep.close();
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400", "HTTP/1.1 200"]);
  });

  test("whose body grows beyond the limit is told so, and the server goes on", async () => {
    const chunk = "x".repeat(1500);
    const piece = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
    const chunked = head("POST", maps, "Content-Type: application/json", "Transfer-Encoding: chunked");
    const answers = await talk(chunked + piece + piece);
    expect(answers).toMatch(/^HTTP\/1\.1 413 /);
    expect(answers).toContain("the body of the request is larger than 1000 bytes");
    expect((await api.ask("GET", "/readyz")).status).toBe(200);
  });

  test("that speaks no HTTP gets an answer or nothing, and the server goes on", async () => {
    const answer = await talk("NONSENSE\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n/);
    expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toMatchObject({ kind: "Status", code: 400 });
    expect((await api.ask("GET", "/readyz")).status).toBe(200);
  });

  test("with a head of more than 16 KiB is refused", async () => {
    const answer = await talk(head("GET", "/readyz", `X-Long: ${"x".repeat(20_000)}`));
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain('"message":"the headers of the request are larger than 16 KiB","reason":"BadRequest"');
  });
});

describe("what is counted", () => {
  test("names kinds, verbs and codes, whatever the paths", async () => {
    await api.ask("POST", maps, { body: configMap("counted") });
    await api.ask("GET", `${maps}/counted`);
    await api.ask("GET", `${maps}?watch=maybe`);
    for (const path of ["/a", "/b?c=d", "/api/v1/things", `${maps}/counted/e`]) await api.ask("GET", path);
    const { text } = await api.ask("GET", "/metrics");
    const lines = text.split("\n").filter((line) => line.startsWith("slipway_apiserver_requests_total{"));
    expect(lines).toContain(
      'slipway_apiserver_requests_total{verb="create",resource="configmaps",subresource="",code="201"} 1',
    );
    expect(
      lines.some((line) => /verb="other",resource="other",subresource="",code="404"\} ([4-9]|\d\d+)$/.test(line)),
    ).toBe(true);
    expect(text).not.toContain("counted");
    expect(lines.every((line) => /verb="[a-z]+",resource="[a-z]+",subresource="[a-z]*",code="\d+"/.test(line))).toBe(
      true,
    );
  });
});
