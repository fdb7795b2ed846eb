import type { LookupAddress } from "node:dns";
import { createServer, request as httpRequest, type Server } from "node:http";
import { connect, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { EgressRules } from "./egress.ts";
import { type EgressProxy, openEgressProxy } from "./egress-proxy.ts";
import { performEmail } from "./perform-email.ts";
import { openHttp, performHttp, redirected } from "./perform-http.ts";

const open: (Server | TcpServer)[] = [];
const proxies: EgressProxy[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  }
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
});

async function portOf(server: Server | TcpServer): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

/** A name whose address changes with every question, as an attacker's server of names can answer. */
function changing(...answers: readonly string[]) {
  const asked: string[] = [];
  const resolve = ((host: string, _options: object, done: (failure: null, found: LookupAddress[]) => void) => {
    const address = answers[Math.min(asked.length, answers.length - 1)] ?? "";
    asked.push(host);
    done(null, [{ address, family: 4 }]);
  }) as ConstructorParameters<typeof EgressRules>[1];
  return { asked, resolve };
}

const denied = ["169.254.0.0/16"];
const metadata = "169.254.169.254";
const refusal = `address ${metadata} is denied by EgressDeny`;
const signal = new AbortController().signal;

test("attack: an IPv4 address in the form of IPv6 is denied too", () => {
  const rules = new EgressRules(denied);
  for (const host of ["[::ffff:169.254.169.254]", "::ffff:a9fe:a9fe", new URL(`http://[::ffff:${metadata}]/`).hostname])
    expect(rules.refusal(host), host).toContain("is denied by EgressDeny");
});

test("attack: a mail goes to the address that was checked, although the name resolves to another one afterwards", async () => {
  const greeted: string[] = [];
  const smtp = createTcpServer((socket) => {
    greeted.push(socket.localAddress ?? "");
    socket.end("421 no\r\n");
  });
  const port = await portOf(smtp);
  const mail = {
    kind: "email" as const,
    host: "mail.test",
    port,
    username: "",
    password: "",
    subject: "",
    body: "",
    from: { address: "a@b.test" },
    to: ["c@d.test"],
  };
  const { resolve, asked } = changing("127.0.0.1", metadata);
  expect(await performEmail(mail, new EgressRules(denied, resolve))).toMatchObject({ ok: false });
  expect(greeted).toEqual(["127.0.0.1"]);
  expect(asked).toEqual(["mail.test"]);
  const late = changing(metadata);
  expect(await performEmail(mail, new EgressRules(denied, late.resolve))).toEqual({
    ok: false,
    message: expect.stringContaining(refusal) as string,
  });
});

test("attack: a download follows redirects only to addresses that are not denied", async () => {
  const port = await portOf(
    createServer((_request, response) => response.writeHead(302, { location: `http://away.test/` }).end()),
  );
  const { resolve } = changing(metadata);
  const rules = new EgressRules(denied, resolve);
  await expect(openHttp(`http://127.0.0.1:${port}/a.tgz`, rules, signal)).rejects.toThrow(refusal);
});

test("attack: neither headers that may hold a secret nor client certificates follow a redirect to another origin", async () => {
  const seen: Readonly<Record<string, unknown>>[] = [];
  const echo = createServer((request, response) => {
    seen.push(request.headers);
    response.end();
  });
  const other = await portOf(echo);
  const port = await portOf(
    createServer((request, response) => {
      seen.push(request.headers);
      const location = request.url === "/same" ? "/end" : `http://127.0.0.1:${other}/`;
      if (request.url === "/end") response.end();
      else response.writeHead(307, { location }).end();
    }),
  );
  const ask = (path: string) =>
    performHttp(
      {
        kind: "http",
        method: "POST",
        url: `http://127.0.0.1:${port}${path}`,
        headers: { "x-api-key": "hunter2", "private-token": "hunter2", "content-type": "application/json" },
        body: "{}",
        timeoutMs: 5_000,
      },
      { denied, clock: systemClock },
    );
  expect(await ask("/same")).toMatchObject({ ok: true });
  expect(seen.splice(0)[1]).toMatchObject({ "x-api-key": "hunter2" });
  expect(await ask("/away")).toMatchObject({ ok: true });
  expect(seen[0]).toMatchObject({ "private-token": "hunter2" });
  expect(seen[1]).toMatchObject({ "content-type": "application/json", host: `127.0.0.1:${other}` });
  expect(JSON.stringify(seen[1])).not.toContain("hunter2");
  const tls = { ca: "authority", cert: "certificate", key: "key" };
  const request = { kind: "http", method: "GET", url: "https://a.test/", headers: {}, timeoutMs: 1, tls } as const;
  expect(redirected(request, new URL("https://a.test/b"), 302).tls).toEqual(tls);
  for (const url of ["https://a.test:444/", "https://b.test/", "http://a.test/"])
    expect(redirected(request, new URL(url), 302).tls, url).toEqual({ ca: "authority" });
});

async function proxy(rules: EgressRules) {
  const opened = await openEgressProxy(rules);
  proxies.push(opened);
  const { hostname, port, username, password } = new URL(opened.url);
  const credentials = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const get = (path: string, authorization = credentials): Promise<string> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(
        { hostname, port, path, headers: { "proxy-authorization": authorization } },
        (answer) => {
          let body = "";
          answer.on("data", (chunk: Buffer) => (body += chunk.toString()));
          answer.on("end", () => resolve(`${answer.statusCode} ${body}`));
        },
      );
      sent.on("error", reject);
      sent.end();
    });
  const tunnel = (target: string, authorization = credentials): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) }, () =>
        socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${authorization}\r\n\r\n`),
      );
      let text = "";
      socket.on("error", reject);
      socket.on("close", () => resolve(text));
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (chunk.includes("200 Connection")) socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      });
    });
  return { opened, get, tunnel };
}

test("attack: a program behind the proxy reaches no denied address, by name or by number, and nobody else uses it", async () => {
  const port = await portOf(createServer((_request, response) => response.end("hello")));
  const { resolve } = changing("127.0.0.1", metadata, "127.0.0.1", metadata);
  const { opened, get, tunnel } = await proxy(new EgressRules(denied, resolve));
  expect(await get(`http://name.test:${port}/`)).toBe("200 hello");
  expect(await get(`http://name.test:${port}/`)).toBe("403 ");
  expect(opened.failure()).toBe(refusal);
  expect(await tunnel(`name.test:${port}`)).toMatch(/200 Connection established[^]*hello$/);
  expect(await tunnel(`name.test:${port}`)).toMatch(/^HTTP\/1.1 403/);
  expect(await tunnel(`${metadata}:80`)).toMatch(/^HTTP\/1.1 403/);
  expect(await tunnel(`[::ffff:a9fe:a9fe]:80`)).toMatch(/^HTTP\/1.1 403/);
  expect(await get(`http://${metadata}/`)).toBe("403 ");
  expect(await get("/")).toBe("403 ");
  expect(await get(`http://127.0.0.1:${port}/`, "Basic eDp5")).toBe("407 ");
  expect(await tunnel(`127.0.0.1:${port}`, "none")).toMatch(/^HTTP\/1.1 407/);
});
