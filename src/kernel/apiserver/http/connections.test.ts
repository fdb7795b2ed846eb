import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect as connectTcp, type Socket } from "node:net";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer, waitUntil } from "../testing/index.ts";
import type { ConnectionLimits } from "#kernel/doors/index.ts";
import type { Listener } from "./listener.ts";

let api: TestServer;
const opened: Socket[] = [];
const listeners: Listener[] = [];
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(async () => {
  for (const socket of opened) socket.destroy();
  for (const listener of listeners) await listener.close();
  await api.close();
});

const listen = async (connections: Partial<ConnectionLimits>): Promise<Listener> => {
  const listener = await api.server.listen({ port: 0, tls: api.serving, connections });
  listeners.push(listener);
  return listener;
};
/** A connection that has done its handshake, and what came on it so far. */
async function open({ port }: Listener) {
  const socket = connect({ port, host: "127.0.0.1", ca: api.ca, servername: "localhost" });
  opened.push(socket);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return { socket, heard: () => text };
}
const ask = (path: string, ...more: readonly string[]) =>
  ["GET", "HTTP/1.1", "Host: localhost", `Authorization: Bearer ${api.token}`, ...more]
    .join("\r\n")
    .replace("GET\r\nHTTP", `GET ${path} HTTP`)
    .concat("\r\n\r\n");
const answers = (text: string): number => text.match(/HTTP\/1\.1 200/g)?.length ?? 0;
/** A connection whose first request was answered. Where this process was held up for longer than its headers may take, it was cut: another one is opened. */
async function openWith(listener: Listener, request: string) {
  for (;;) {
    const opening = await open(listener);
    opening.socket.write(request);
    await waitUntil(() => answers(opening.heard()) === 1 || opening.socket.destroyed);
    if (answers(opening.heard()) === 1) return opening;
  }
}

test("HTTP/1.1 is spoken, whatever else a client would like better", async () => {
  const { port } = await listen({});
  const socket = connect({
    port,
    host: "127.0.0.1",
    ca: api.ca,
    servername: "localhost",
    ALPNProtocols: ["h2", "http/1.1"],
  });
  opened.push(socket);
  await once(socket, "secureConnect");
  expect(socket.alpnProtocol).toBe("http/1.1");
});

test("a request with two hosts is refused, even when both are ours and the same", async () => {
  const { socket, heard } = await open(await listen({}));
  socket.write(ask("/version", "host: localhost"));
  await waitUntil(() => heard().includes("more than one Host header"));
  expect(heard()).toMatch(/^HTTP\/1\.1 400 /);
  socket.write(ask("/version"));
  await waitUntil(() => answers(heard()) === 1);
});

describe("time on a connection", () => {
  test("headers that do not come end it, a rest between two requests does not", async () => {
    const listener = await listen({ headersMs: 50, requestMs: 100, checkEveryMs: 10 });
    const resting = await openWith(listener, ask("/version"));
    const slow = await open(listener);
    slow.socket.write("GET /version HTTP/1.1\r\nHost: ");
    await waitUntil(() => slow.socket.destroyed);
    expect(slow.heard()).toMatch(/^HTTP\/1\.1 408 /);
    // It has rested since before the other one began, which was too long for that one.
    resting.socket.write(ask("/version"));
    await waitUntil(() => answers(resting.heard()) === 2);
    expect(resting.heard()).toContain("Keep-Alive: timeout=125");
  });

  test("a connection that is opened ahead of its first request waits for it", async () => {
    const listener = await listen({ headersMs: 50, requestMs: 100, checkEveryMs: 10 });
    const [ahead, slow] = [await open(listener), await open(listener)];
    slow.socket.write("G");
    await waitUntil(() => slow.socket.destroyed);
    expect(slow.heard()).toMatch(/^HTTP\/1\.1 408 /);
    // Longer than its headers may take from their first byte on.
    ahead.socket.write(ask("/version"));
    await waitUntil(() => ahead.heard() !== "");
    expect(answers(ahead.heard())).toBe(1);
    ahead.socket.write("G");
    await waitUntil(() => ahead.socket.destroyed);
    expect(ahead.heard()).toMatch(/HTTP\/1\.1 408 /);
  });

  test("a connection without a request ends without an answer", async () => {
    const unused = await open(await listen({ headersMs: 50, requestMs: 100, idleMs: 100, checkEveryMs: 10 }));
    await waitUntil(() => unused.socket.destroyed);
    expect(unused.heard()).toBe("");
  });

  test("a body that does not come ends it", async () => {
    const listener = await listen({ headersMs: 50, requestMs: 50, checkEveryMs: 10 });
    const { socket, heard } = await open(listener);
    const head = ask("/api/v1/namespaces/default/configmaps", "Content-Type: application/json", "Content-Length: 100");
    socket.write(`${head.replace("GET", "POST")}{`);
    await once(socket, "close");
    expect(heard()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a handshake that does not come ends it", async () => {
    const socket = connectTcp({ port: (await listen({ handshakeMs: 20 })).port, host: "127.0.0.1" });
    opened.push(socket);
    await once(socket, "close");
    expect(socket.bytesRead).toBe(0);
  });

  test("an answer that lasts has no limit", async () => {
    const listener = await listen({ headersMs: 20, requestMs: 20, idleMs: 20, checkEveryMs: 5 });
    const watch = await openWith(listener, ask("/api/v1/namespaces/default/configmaps?watch=1"));
    const silent = await open(listener);
    await waitUntil(() => silent.socket.destroyed);
    const before = watch.heard();
    await api.ask("POST", "/api/v1/namespaces/default/configmaps", {
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "late" } },
    });
    await waitUntil(() => watch.heard().slice(before.length).includes('"late"'));
  });
});

test.skipIf(process.platform !== "linux")(
  "the system looks after the other end of a connection that is silent",
  async () => {
    const listener = await listen({});
    const { socket } = await open(listener);
    const hexPort = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
    const [ours, theirs] = [hexPort(listener.port), hexPort(socket.localPort ?? 0)];
    const timerOf = async () => {
      const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
      const line = lines.find(([, local, remote]) => local?.endsWith(`:${ours}`) && remote?.endsWith(`:${theirs}`));
      // The kind of the timer that runs: 2 is keep-alive.
      return line?.[5]?.split(":")[0];
    };
    await waitUntil(async () => (await timerOf()) === "02");
  },
);

describe("too many connections", () => {
  test("those that have rested the longest give way to new ones, those with a request do not", async () => {
    const listener = await listen({ maxConnections: 3 });
    const watch = await open(listener);
    watch.socket.write(ask("/api/v1/namespaces/default/configmaps?watch=1"));
    await waitUntil(() => answers(watch.heard()) === 1);
    const [first, second] = [await open(listener), await open(listener)];
    // The first is the one that was used last.
    for (const { socket, heard } of [second, first]) {
      socket.write(ask("/version"));
      await waitUntil(() => answers(heard()) === 1);
    }
    const third = await open(listener);
    await waitUntil(() => second.socket.destroyed);
    third.socket.write(ask("/version"));
    first.socket.write(ask("/version"));
    await waitUntil(() => answers(third.heard()) === 1 && answers(first.heard()) === 2);
    expect(watch.socket.destroyed).toBe(false);
  });

  test("whoever connects without a handshake gives way too", async () => {
    const listener = await listen({ maxConnections: 2 });
    const raw = connectTcp({ port: listener.port, host: "127.0.0.1" });
    opened.push(raw);
    await once(raw.resume(), "connect");
    const [first, second] = [await open(listener), await open(listener)];
    await waitUntil(() => raw.destroyed);
    for (const { socket, heard } of [first, second]) {
      socket.write(ask("/version"));
      await waitUntil(() => answers(heard()) === 1);
    }
  });
});

describe("a flood of handshakes", () => {
  test("that are not finished keeps nobody out, and takes a bounded number of connections", async () => {
    const listener = await listen({ maxHandshakes: 20 });
    const resting = await openWith(listener, ask("/version"));
    const flood = Array.from({ length: 200 }, (_, at) => {
      const raw = connectTcp({ port: listener.port, host: "127.0.0.1" });
      opened.push(raw);
      raw.on("error", () => undefined).resume();
      // Every other one begins: the first bytes of a ClientHello.
      if (at % 2 === 0) raw.write(Buffer.from([0x16, 0x03, 0x01, 0x01, 0x00, 0x01, 0x00]));
      return raw;
    });
    await waitUntil(() => flood.filter(({ destroyed }) => !destroyed).length <= 20);
    const late = await openWith(listener, ask("/version"));
    expect(late.socket.destroyed).toBe(false);
    resting.socket.write(ask("/version"));
    await waitUntil(() => answers(resting.heard()) === 2);
  });

  test("on one connection ends that connection", async () => {
    const { port } = await listen({});
    const socket = connect({ port, host: "127.0.0.1", ca: api.ca, servername: "localhost", maxVersion: "TLSv1.2" });
    opened.push(socket);
    socket.on("error", () => undefined).resume();
    await once(socket, "secureConnect");
    let agreed = 0;
    const again = () => socket.renegotiate({}, (error) => (error === null ? ((agreed += 1), again()) : undefined));
    again();
    await waitUntil(() => socket.destroyed);
    expect(agreed).toBeLessThan(10);
    const after = await openWith(await listen({}), ask("/version"));
    expect(after.socket.destroyed).toBe(false);
  });
});

describe("the end of a listener", () => {
  const end = async (listener: Listener) => {
    let isOver = false;
    void listener.close().then(() => (isOver = true));
    await waitUntil(() => isOver);
  };

  test("is not held up by a handshake that does not come", async () => {
    const listener = await listen({ handshakeMs: 3_600_000 });
    const raw = connectTcp({ port: listener.port, host: "127.0.0.1" });
    opened.push(raw);
    const isClosed = once(raw.resume(), "close");
    // Accepted in order: when the second is served, the first has been seen.
    await open(listener);
    await end(listener);
    await isClosed;
  });
});

test("answers that wait behind another one give their places back when the connection goes", async () => {
  const small = await startTestServer({ limits: { maxReadingRequests: 2 } });
  const maps = "/api/v1/namespaces/default/configmaps";
  const status = async () => (await small.ask("GET", maps)).status;
  const socket = connect({
    port: Number(new URL(small.url).port),
    host: "127.0.0.1",
    ca: small.ca,
    servername: "localhost",
  });
  opened.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  const request = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${small.token}\r\n\r\n`;
  socket.write(request(`${maps}?watch=1`) + request(maps) + request(maps));
  await waitUntil(async () => (await status()) === 429);
  socket.destroy();
  await waitUntil(async () => (await status()) === 200);
  await small.close();
});
