import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { deferred, FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import type { Door, DoorOptions } from "./door.ts";
import { type Exchange, sendBytes, sendJson } from "./answers.ts";
import { readBody } from "./body.ts";
import { HttpServer } from "./http-server.ts";
import { selfSignedPair } from "./key-pairs.ts";
import type { KeyPair } from "./x509.ts";
import { openDoor } from "./open-door.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

let directory = "";
let tls: KeyPair;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-door-"));
  tls = await selfSignedPair(directory, "door", systemClock.now());
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const letters = Buffer.from("abcdefghij");
async function answer(exchange: Exchange): Promise<void> {
  const { method, url } = exchange.request;
  if (method === "POST") sendJson(exchange, { read: (await readBody(exchange.request, 100)).length }, { status: 201 });
  else if (url === "/letters")
    sendBytes(exchange, {
      size: letters.length,
      contentType: "application/octet-stream",
      async *read(start, end) {
        yield letters.subarray(start, end);
      },
    });
  else if (url === "/bug") throw new Error("the password is tea");
  else sendJson(exchange, { url });
}

async function open(options: Partial<DoorOptions> = {}): Promise<Door> {
  const door = await openDoor({
    address: "127.0.0.1:0",
    serves: async () => ({ answer }),
    clock: systemClock,
    log: silentLog,
    drain: 50,
    ...options,
  });
  closers.push(() => door.close());
  return door;
}

async function socketTo(door: Door): Promise<Socket> {
  const socket = connect(door.port, "127.0.0.1");
  socket.on("error", () => undefined);
  closers.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** However it is closed: a reset is an end, too. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()));

const urlOf = (door: Door, path: string): string => `http://${door.address}${path}`;

describe("that nothing can be served,", () => {
  const serves = () => Promise.reject(new Error("not today"));
  const askOn = async (door: Door): Promise<Socket> => {
    const socket = await socketTo(door);
    socket.resume().write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    return socket;
  };

  test("when even that cannot be told, ends the connection and nothing else, and is told to the next one", async () => {
    const load = vi.spyOn(HttpServer, "load").mockRejectedValueOnce(new Error("there is no such module"));
    closers.push(() => load.mockRestore());
    const door = await open({ serves });
    await closed(await askOn(door));
    expect((await fetch(urlOf(door, "/"))).status).toBe(503);
  });

  test("is not told to who has gone meanwhile", async () => {
    const [asked, loaded] = [deferred<void>(), deferred<void>()];
    const really = HttpServer.load.bind(HttpServer);
    const load = vi.spyOn(HttpServer, "load").mockImplementationOnce(async (...given) => {
      asked.resolve();
      await loaded.promise;
      return await really(...given);
    });
    const connect = vi.spyOn(HttpServer.prototype, "connect");
    closers.push(
      () => load.mockRestore(),
      () => connect.mockRestore(),
    );
    const gone = deferred<void>();
    const taken = (message: unknown): void =>
      void (message as { readonly socket: Socket }).socket.once("close", () => gone.resolve());
    subscribe("net.server.socket", taken);
    const door = await open({ serves });
    const socket = await askOn(door);
    await asked.promise;
    unsubscribe("net.server.socket", taken);
    socket.resetAndDestroy();
    await gone.promise;
    loaded.resolve();
    expect((await fetch(urlOf(door, "/"))).status).toBe(503);
    expect(connect).toHaveBeenCalledTimes(1);
  });
});

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Over TLS, on a connection of its own. */
function askTls(door: Door, path: string, { method = "GET", headers = {}, body = "" }: Asked = {}) {
  return new Promise<{ readonly status: number | undefined; readonly headers: unknown; readonly text: string }>(
    (resolve, reject) => {
      const options = { port: door.port, host: "127.0.0.1", path, method, headers, ca: tls.cert, agent: false };
      const asked = httpsRequest({ ...options, servername: "localhost" }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.once("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
      });
      asked.on("error", reject).end(body);
    },
  );
}

describe("with TLS", () => {
  test("a door answers with its certificate, which clients can check", async () => {
    const door = await open({ tls });
    expect(await askTls(door, "/thing")).toMatchObject({ status: 200, text: '{"url":"/thing"}' });
    expect(await askTls(door, "/", { method: "POST", body: "four" })).toMatchObject({
      status: 201,
      text: '{"read":4}',
    });
  });

  test("a body that is too long, a bug and a foreign page are refused", async () => {
    const logged: string[] = [];
    const door = await open({ tls, log: { ...silentLog, error: (message) => void logged.push(message) } });
    expect(await askTls(door, "/", { method: "POST", body: "x".repeat(101) })).toMatchObject({ status: 413 });
    expect(await askTls(door, "/bug")).toMatchObject({
      status: 500,
      text: '{"reason":"internal-error","message":"the server has failed"}\n',
    });
    expect(logged).toEqual(["a request has failed"]);
    expect((await askTls(door, "/", { headers: { host: "evil.example" } })).status).toBe(421);
    expect((await askTls(door, "/", { headers: { origin: "https://evil.example" } })).status).toBe(403);
  });

  test("parts of bytes are sent as asked for", async () => {
    const door = await open({ tls });
    const part = await askTls(door, "/letters", { headers: { range: "bytes=2-4" } });
    expect(part).toMatchObject({ status: 206, text: "cde", headers: { "content-range": "bytes 2-4/10" } });
    expect(await askTls(door, "/letters", { method: "HEAD" })).toMatchObject({
      status: 200,
      text: "",
      headers: { "content-length": "10", "accept-ranges": "bytes" },
    });
    const beyond = await askTls(door, "/letters", { headers: { range: "bytes=99-" } });
    expect(beyond).toMatchObject({ status: 416, headers: { "content-range": "bytes */10" } });
  });

  test("another certificate is shown to new connections", async () => {
    const door = await open({ tls });
    await askTls(door, "/");
    const other = await selfSignedPair(join(directory, "other"), "door", systemClock.now());
    door.renew(other);
    const socket = connectTls({ port: door.port, host: "127.0.0.1", ca: other.cert, servername: "localhost" });
    await once(socket, "secureConnect");
    socket.destroy();
  });

  test("who never begins a handshake is cut", async () => {
    const door = await open({ tls, patience: { headersMs: 200 } });
    const socket = await socketTo(door);
    socket.resume();
    await closed(socket);
  });

  test("a connection that is opened ahead of its first request waits for it, and headers that do not come end it", async () => {
    const door = await open({ tls, patience: { headersMs: 100 } });
    const connect = async () => {
      const socket = connectTls({ port: door.port, host: "127.0.0.1", ca: tls.cert, servername: "localhost" });
      closers.push(() => socket.destroy());
      let text = "";
      socket.on("error", () => undefined).on("data", (chunk: Buffer) => (text += chunk.toString()));
      await once(socket, "secureConnect");
      return { socket, heard: () => text };
    };
    const [ahead, slow] = [await connect(), await connect()];
    slow.socket.write("G");
    await closed(slow.socket);
    expect(slow.heard()).toMatch(/^HTTP\/1\.1 408 /);
    ahead.socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(ahead.socket, "data");
    expect(ahead.heard()).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("who sends a body in drops is cut", async () => {
    const clock = new FakeClock();
    const door = await open({ tls, clock, patience: { bodyMs: 60_000 } });
    const socket = connectTls({ port: door.port, host: "127.0.0.1", ca: tls.cert, servername: "localhost" });
    closers.push(() => socket.destroy());
    socket.on("error", () => undefined).resume();
    await once(socket, "secureConnect");
    socket.write("POST /api/thing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    while (!socket.closed) {
      if (socket.writable) socket.write("x");
      await clock.advance(1000);
    }
  });
});

describe("upgrades", () => {
  const handshake = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };

  /** The first line of the answer to a handshake. */
  async function upgradeTo(door: Door, headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const socket = connectTls({ port: door.port, host: "127.0.0.1", ca: tls.cert, servername: "localhost" });
    closers.push(() => socket.destroy());
    socket.on("error", () => undefined);
    const lines = Object.entries({ host: "localhost", ...handshake, ...headers }).map(([name, at]) => `${name}: ${at}`);
    socket.write(["GET /ws HTTP/1.1", ...lines, "", ""].join("\r\n"));
    const [chunk] = (await once(socket, "data")) as [Buffer];
    return chunk.toString().split("\r\n")[0] ?? "";
  }

  test("are handed over with a good handshake from an allowed page, up to a bound", async () => {
    const door = await open({
      tls,
      most: { upgrades: 1 },
      serves: async () => ({
        answer,
        upgrade: ({ socket }) => void socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
      }),
    });
    expect(await upgradeTo(door, { origin: "https://evil.example" })).toMatch(/ 403 /);
    expect(await upgradeTo(door, { "sec-websocket-version": "12" })).toMatch(/ 400 /);
    expect(await upgradeTo(door, { upgrade: "h2c" })).toMatch(/ 200 /);
    expect(await upgradeTo(door, { origin: "https://localhost" })).toMatch(/ 101 /);
    expect(await upgradeTo(door)).toMatch(/ 429 /);
  });

  test("that the service refuses or does not expect get an answer", async () => {
    const refusing = await open({
      tls,
      serves: async () => ({ answer, upgrade: () => Promise.reject(new Error("no")) }),
    });
    expect(await upgradeTo(refusing)).toMatch(/ 500 /);
    expect(await upgradeTo(await open({ tls }))).toMatch(/ 200 /);
  });
});

test("beyond a number of connections the one that has been idle longest makes room, and none that is served", async () => {
  const [asked, go] = [deferred<void>(), deferred<void>()];
  const door = await open({
    tls,
    most: { connections: 2 },
    serves: async () => ({
      async answer(exchange) {
        if (exchange.request.url === "/slow") {
          asked.resolve();
          await go.promise;
        }
        sendJson(exchange, {});
      },
    }),
  });
  const slow = askTls(door, "/slow");
  await asked.promise;
  const idle = await socketTo(door);
  const gone = closed(idle.resume());
  expect((await askTls(door, "/")).status).toBe(200);
  await gone;
  go.resolve();
  expect((await slow).status).toBe(200);
});

test("requests are counted with their status, and those beyond a bound are refused", async () => {
  const counted: (number | undefined)[] = [];
  const [first, go] = [deferred<void>(), deferred<void>()];
  const door = await open({
    most: { requests: 1 },
    observe: () => (status) => void counted.push(status),
    serves: async () => ({
      async answer(exchange) {
        first.resolve();
        await go.promise;
        sendJson(exchange, {});
      },
    }),
  });
  const waiting = fetch(urlOf(door, "/"));
  await first.promise;
  const refused = await fetch(urlOf(door, "/"));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  go.resolve();
  expect((await waiting).status).toBe(200);
  await expect.poll(() => counted).toEqual([429, 200]);
});

test("a self-signed certificate is kept, and made again for another name", async () => {
  const now = systemClock.now();
  const dir = join(directory, "kept");
  const first = await selfSignedPair(dir, "door", now);
  expect(await selfSignedPair(dir, "door", now)).toEqual(first);
  expect(await selfSignedPair(dir, "door", now, ["machines.example"])).not.toEqual(first);
});
