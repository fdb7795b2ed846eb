import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { CertificateFolder } from "#test/support/certificates.ts";
import type { Engine } from "./engines.ts";
import { endWorker, triggerWorker } from "./trigger.ts";

const { signal: never } = new AbortController();
const unnoted = async () => undefined;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A provisioner that says `type` with its 404 and has this list, and what it was asked for. */
async function provisioner(type: string, list = "[]") {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.url === "/api/worker" && request.method === "GET") return response.end(list);
      if (request.method === "GET") return response.writeHead(404, { "content-type": type }).end("{}");
      asked.push(`${request.url ?? ""} ${body}`);
      return response.writeHead(201).end('{"workerId":"w"}');
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/worker`;
  const engine: Engine = { id: "e", name: "E", url, api: "wharf-cmd.v1" };
  return { engine, asked };
}

test.each([
  ["of this project is asked in a body", "application/problem+json", "/api/worker BUILD_REF=7&VARS=a%3A+b"],
  [
    "that was released is asked in the query, which is all it reads",
    "text/plain",
    "/api/worker?BUILD_REF=7&VARS=a%3A+b ",
  ],
])("a provisioner %s", async (_, type, expected) => {
  const { engine, asked } = await provisioner(type);
  expect(await triggerWorker(engine, { BUILD_REF: "7", VARS: "a: b" }, never, unnoted)).toBe("w");
  expect(asked).toEqual([expected]);
});

test("one that would start another worker is not asked before that is noted, and one of this project needs no note", async () => {
  const unable = () => Promise.reject(new Error("the disk is full"));
  const released = await provisioner("text/plain");
  await expect(triggerWorker(released.engine, {}, never, unable)).rejects.toThrow("the disk is full");
  expect(released.asked).toEqual([]);
  const own = await provisioner("application/problem+json");
  expect(await triggerWorker(own.engine, {}, never, unable)).toBe("w");
});

test("what answers for a provisioner that is away is told nothing in a query", async () => {
  const { engine, asked } = await provisioner("text/html", "<html>no such service</html>");
  await triggerWorker(engine, { BUILD_REF: "7", GIT_TOKEN: "hidden" }, never, unnoted);
  expect(asked).toEqual(["/api/worker BUILD_REF=7&GIT_TOKEN=hidden"]);
});

test("one that nobody has named is asked where it is found, and nobody is where it is not", async () => {
  const stranger = await provisioner("application/problem+json");
  const own = await provisioner("application/problem+json");
  const found = async () => ({ url: new URL(own.engine.url).origin });
  expect(await triggerWorker({ ...stranger.engine, find: found }, { BUILD_REF: "7" }, never, unnoted)).toBe("w");
  expect(own.asked).toEqual(["/api/worker BUILD_REF=7"]);
  const nobody = { ...stranger.engine, find: () => Promise.reject(new Error("no provisioner of this user runs here")) };
  const told = { code: "wharf-trigger", message: "no provisioner of this user runs here" };
  await expect(triggerWorker(nobody, { BUILD_REF: "7" }, never, unnoted)).rejects.toMatchObject(told);
  await expect(endWorker(nobody, "w", {}, never)).rejects.toMatchObject(told);
  expect(stranger.asked).toEqual([]);
});

test.each(["released", "jenkins", "own", "gateway"])(
  "an answer that is lost on its way from one (%s) says whether it may be asked again",
  async (kind) => {
    const server = createServer((request, response) => {
      const type = kind === "own" ? "application/problem+json" : "text/plain";
      if (request.url === "/api/worker" && request.method === "GET") response.end("[]");
      else if (request.method === "GET") response.writeHead(404, { "content-type": type }).end();
      else if (kind === "gateway") response.writeHead(504).end("gateway timeout");
      else request.socket.destroy();
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/worker`;
    const api = kind === "jenkins" ? "jenkins-generic-webhook-trigger" : "wharf-cmd.v1";
    const told =
      kind === "own"
        ? { code: "wharf-trigger-unanswered" }
        : { code: "wharf-trigger-unknown", message: expect.stringContaining("it would start another") };
    await expect(triggerWorker({ id: "e", name: "E", url, api }, {}, never, unnoted)).rejects.toMatchObject(told);
  },
);

test("what one that would start another worker has never got may be asked again", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await new Promise((resolve) => server.close(resolve));
  const engine: Engine = { id: "e", name: "E", url, api: "jenkins-generic-webhook-trigger" };
  await expect(triggerWorker(engine, {}, never, unnoted)).rejects.toMatchObject({ code: "wharf-trigger" });
});

test.each(["a certificate that is not trusted", "no TLS", "a redirect"])(
  "nor has one got anything that has %s where it should be",
  async (what) => {
    const certificates = await CertificateFolder.create();
    await certificates.sign("server", "server");
    const tls = { key: certificates.read("server.key"), cert: certificates.read("server.crt") };
    const redirect: RequestListener = (_, response) => response.writeHead(307, { location: "/elsewhere" }).end();
    const server = what.startsWith("a certificate") ? createTlsServer(tls) : createServer(redirect);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const scheme = what === "a redirect" ? "http" : "https";
    const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    try {
      const engine: Engine = { id: "e", name: "E", url, api: "jenkins-generic-webhook-trigger" };
      await expect(triggerWorker(engine, {}, never, unnoted)).rejects.toMatchObject({ code: "wharf-trigger" });
    } finally {
      certificates.close();
    }
  },
);

test("a worker that is gone has ended, also where the provisioner fails at it", async () => {
  const server = createServer((request, response) => {
    if (request.method === "DELETE") response.writeHead(500).end("{}");
    else response.end('[{"workerId":"here"}]');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/worker`;
  const engine: Engine = { id: "e", name: "E", url, api: "wharf-cmd.v1" };
  await endWorker(engine, "gone", {}, never);
  await expect(endWorker(engine, "here", {}, never)).rejects.toMatchObject({ code: "wharf-trigger" });
});
