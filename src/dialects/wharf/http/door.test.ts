import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { ApiError } from "#kernel/model/index.ts";
import { service, wharfApiV5 } from "#kernel/rpc/index.ts";
import { isRefused, RpcClient } from "#kernel/rpc/testing/index.ts";
import { deferred, FakeClock, type LogFields, silentLog, systemClock } from "#lib/base/index.ts";
import { type AskedRequest, type HttpDoor, type HttpDoorOptions, openHttpDoor, refuse } from "./index.ts";
import { createRestApi, sendJson, uintOf } from "./rest-api.ts";

const { Builds } = wharfApiV5;
const { createLogStream } = Builds.method;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** How many lines have come. */
async function count(lines: AsyncIterable<unknown>) {
  let linesInserted = 0n;
  for await (const _ of lines) linesInserted++;
  return { linesInserted };
}

function answers(origins: readonly string[] = []) {
  const api = createRestApi({ log: silentLog, origins });
  api.get("/api/thing/:id", (context) => sendJson(context, { id: uintOf("id", context.req.param("id")) }));
  api.post("/api/thing", async (context) => sendJson(context, { read: (await context.req.text()).length }, 201));
  api.get("/api/gone", () => {
    throw refuse("record-not-found", "thing 7 does not exist");
  });
  api.get("/api/bug", () => {
    throw new Error("the password is tea");
  });
  return { fetch: api.fetch, services: [service(Builds, { createLogStream: count })] };
}

async function open(options: Partial<HttpDoorOptions> = {}): Promise<HttpDoor> {
  const serves = async () => answers(options.origins);
  const door = await openHttpDoor({
    address: "127.0.0.1:0",
    serves,
    clock: systemClock,
    log: silentLog,
    drain: 50,
    ...options,
  });
  closers.push(() => door.close());
  return door;
}

test("a door whose answers never come can be closed, also when somebody waits at it", async () => {
  const [asked, never] = [deferred<void>(), deferred<never>()];
  const serves = (): Promise<never> => {
    asked.resolve();
    return never.promise;
  };
  const door = await open({ serves });
  const socket = await socketTo(door);
  const gone = closed(socket);
  socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await asked.promise;
  await door.close();
  await gone;
});

async function socketTo(door: HttpDoor): Promise<Socket> {
  const socket = connect(door.port, "127.0.0.1");
  socket.on("error", () => undefined);
  closers.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** However it is closed: a reset is an end, too. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()));

const urlOf = (door: HttpDoor, path: string): string => `http://${door.address}${path}`;

/** Over HTTP/2: status and body. */
async function overHttp2(door: HttpDoor, headers: Record<string, string>, body = "") {
  const session = connectHttp2(`http://${door.address}`);
  closers.push(() => session.destroy());
  const stream = session.request(headers);
  if (body !== "") stream.end(body);
  const [answered] = (await once(stream, "response")) as [Record<string, unknown>];
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return { status: answered[":status"], type: answered["content-type"], text };
}

async function call(door: HttpDoor, headers: Record<string, string> = {}) {
  const client = new RpcClient(door.port);
  closers.push(() => client.close());
  return await client.clientStream(createLogStream, [{ message: "a" }, { message: "b" }], { headers }).answer;
}

/** With a Host that fetch would not send. */
function statusFor(door: HttpDoor, headers: Record<string, string>, method = "GET"): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ port: door.port, host: "127.0.0.1", path: "/", method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject).end();
  });
}

describe("one address", () => {
  test("answers REST over HTTP/1.1 and HTTP/2, and gRPC, at once", async () => {
    const door = await open();
    const [first, second, third] = await Promise.all([
      fetch(urlOf(door, "/api/thing/7")).then(async (response) => [response.status, await response.text()]),
      overHttp2(door, { ":path": "/api/thing/8" }),
      call(door),
    ]);
    expect(first).toEqual([200, '{"id":7}']);
    expect(second).toMatchObject({ status: 200, text: '{"id":8}' });
    expect(third).toMatchObject({ linesInserted: 2n });
  });

  test("takes bodies over both", async () => {
    const door = await open();
    const body = "x".repeat(300_000);
    const response = await fetch(urlOf(door, "/api/thing"), { method: "POST", body });
    expect([response.status, await response.json()]).toEqual([201, { read: 300_000 }]);
    const other = await overHttp2(door, { ":path": "/api/thing", ":method": "POST" }, body);
    expect(other).toMatchObject({ status: 201, text: '{"read":300000}' });
  });

  test("knows HTTP/2 by a beginning that comes byte by byte", async () => {
    const door = await open();
    const socket = await socketTo(door);
    socket.setNoDelay(true);
    for (const byte of "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    const [bytes] = (await once(socket, "data")) as [Buffer];
    // A frame of settings.
    expect(bytes[3]).toBe(4);
  });

  test("garbage ends the connection that it came on, and no other", async () => {
    const door = await open();
    const client = new RpcClient(door.port);
    closers.push(() => client.close());
    await client.clientStream(createLogStream, []).answer;
    for (const garbage of [
      Buffer.from([0x16, 3, 1, 0, 200]),
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nrubbish".repeat(9),
      "GET",
    ]) {
      const socket = await socketTo(door);
      const ended = closed(socket);
      socket.resume();
      socket.end(garbage);
      await ended;
    }
    expect(isRefused(await client.clientStream(createLogStream, []).answer)).toBe(false);
    expect((await fetch(urlOf(door, "/"))).status).toBe(200);
  });

  test("loads what answers with the first connection, and again when that has failed", async () => {
    let loads = 0;
    const door = await open({
      serves: async () => {
        loads++;
        if (loads === 1) throw new Error("not today");
        return answers();
      },
    });
    expect(loads).toBe(0);
    const away = await fetch(urlOf(door, "/api/thing/7?token=x"));
    expect([away.status, away.headers.get("content-type")]).toEqual([503, "application/problem+json"]);
    const told = {
      type: "/prob/api/service-unavailable",
      detail: "see the log of the server",
      instance: "/api/thing/7",
    };
    expect(await away.json()).toMatchObject(told);
    expect((await fetch(urlOf(door, "/"))).status).toBe(200);
    expect((await fetch(urlOf(door, "/"))).status).toBe(200);
    expect(loads).toBe(2);
  });

  test("that nothing can be served is told with the reason, to whom is let in, and over gRPC as a service that is away", async () => {
    const refusal = new ApiError("Forbidden", 'secrets is forbidden: User "api" cannot watch resource "secrets"');
    const door = await open({ token: "t", serves: () => Promise.reject(refusal) });
    const ask = async (headers: Record<string, string>) => {
      const answer = await fetch(urlOf(door, "/api/build"), { headers });
      return [answer.status, ((await answer.json()) as { readonly detail: string }).detail];
    };
    expect(await ask({ authorization: "Bearer t" })).toEqual([503, refusal.message]);
    expect(await ask({})).toEqual([401, expect.not.stringContaining("secrets")]);
    const client = new RpcClient(door.port);
    closers.push(() => client.close());
    expect(await client.clientStream(createLogStream, []).answer).toMatchObject({ code: "UNAVAILABLE" });
  });

  test("that is taken is told before anything is loaded", async () => {
    const door = await open();
    await expect(open({ address: door.address })).rejects.toThrow(
      `cannot listen on ${door.address}: the port is in use`,
    );
  });
});

describe("who is silent", () => {
  const patience = { headersMs: 200, silenceMs: 200 };
  const patientOnce = { headersMs: 200, idleMs: 200, silenceMs: 600_000 };

  test.each([["nothing"], ["P"], ["PRI * HT"], ["GET / HTTP/1.1\r\nHost: lo"]])(
    "after saying %j is cut",
    async (said) => {
      const door = await open({ patience: patientOnce });
      const socket = await socketTo(door);
      if (said !== "nothing") socket.write(said);
      socket.resume();
      await closed(socket);
    },
  );

  test("before the first byte of a request is not cut as soon as in the middle of one", async () => {
    const door = await open({ patience: { ...patientOnce, idleMs: 600_000 } });
    const ahead = await socketTo(door);
    for (const said of ["P", "G"]) {
      const slow = await socketTo(door);
      slow.resume().write(said);
      await closed(slow);
    }
    ahead.write("GET /api/ping HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [chunk] = (await once(ahead, "data")) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 [24]/);
  });

  test("in the middle of a body is cut", async () => {
    const door = await open({ patience });
    const socket = await socketTo(door);
    socket.write("POST /api/thing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
    socket.resume();
    await closed(socket);
  });

  test("for never long, but sends a body in drops, is cut", async () => {
    const clock = new FakeClock();
    const door = await open({ clock, patience: { headersMs: 60_000, silenceMs: 60_000, bodyMs: 60_000 } });
    const socket = await socketTo(door);
    socket.resume().write("POST /api/thing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    while (!socket.closed) {
      if (socket.writable) socket.write("x");
      await clock.advance(1000);
    }
  });

  test("with drops on one stream of HTTP/2 is cut there, whatever comes on others of the connection", async () => {
    const clock = new FakeClock();
    const door = await open({ clock, patience: { headersMs: 60_000, silenceMs: 60_000, bodyMs: 60_000 } });
    const session = connectHttp2(urlOf(door, ""));
    closers.push(() => session.destroy());
    const post = { ":method": "POST", ":path": "/api/thing" };
    const dripping = session.request(post);
    dripping.on("error", () => undefined).resume();
    const whole = Buffer.alloc(4096, "y");
    for (let second = 0; second < 150 && !dripping.closed; second++) {
      dripping.write("x");
      const stream = session.request(post);
      stream.end(whole);
      expect(await text(stream)).toContain("4096");
      await clock.advance(1000);
    }
    expect(dripping.closed).toBe(true);
  });

  test("because the server has nothing to say is not cut", async () => {
    const says: (() => void)[] = [];
    const fetcher = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode("one "));
            says.push(() => {
              controller.enqueue(new TextEncoder().encode("two"));
              controller.close();
            });
          },
        }),
      );
    const door = await open({ patience: { ...patience, bodyMs: 50 }, serves: async () => ({ fetch: fetcher }) });
    const session = connectHttp2(urlOf(door, ""));
    const stream = session.request({ ":path": "/" });
    const ended = text(stream);
    const response = await fetch(urlOf(door, "/"));
    // Two who owe something have been cut, one after the other.
    for (const said of ["P", "P"]) {
      const socket = await socketTo(door);
      socket.resume().write(said);
      await closed(socket);
    }
    for (const one of says) one();
    expect(await response.text()).toBe("one two");
    expect(await ended).toBe("one two");
    session.destroy();
  });
});

describe("who may ask", () => {
  test("with a token nobody without it, over REST and gRPC", async () => {
    const door = await open({ token: "s3cret" });
    const statusWith = async (authorization: string) =>
      (await fetch(urlOf(door, "/"), { headers: { authorization } })).status;
    expect(
      await Promise.all(["Bearer s3cret", "bearer  s3cret", "Bearer s3cre", "s3cret", ""].map(statusWith)),
    ).toEqual([200, 200, 401, 401, 401]);
    expect(await (await fetch(urlOf(door, "/api/x"))).json()).toEqual({
      type: "/prob/api/unauthorized",
      title: "Unauthorized.",
      status: 401,
      detail: "the request needs a token: Authorization: Bearer …",
      instance: "/api/x",
      errors: [],
    });
    expect(await call(door)).toMatchObject({ code: "UNAUTHENTICATED" });
    expect(isRefused(await call(door, { authorization: "Bearer s3cret" }))).toBe(false);
    expect(await overHttp2(door, { ":path": "/" })).toMatchObject({ status: 401 });
  });

  test("that a service is there needs no token, and nothing else does", async () => {
    const door = await open({ token: "s3cret" });
    const answered = async (path: string, method = "GET") =>
      (await fetch(urlOf(door, path), { method })).status !== 401;
    for (const path of ["/api/health", "/api/ping/", "/api/version?pretty"]) expect(await answered(path)).toBe(true);
    for (const path of ["/api/healthy", "/api/thing/1?/api/health", "/api/version/../thing/1"])
      expect(await answered(path)).toBe(false);
    expect(await answered("/api/version", "POST")).toBe(false);
  });

  test("who presents nothing is let in where that is allowed; a wrong token is refused there, too", async () => {
    const door = await open({ token: "s3cret", allowsAnonymous: true, takesTokenInQuery: () => true });
    const statusOf = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(urlOf(door, path), { headers })).status;
    expect(await statusOf("/api/thing/1")).toBe(200);
    expect(await statusOf("/api/thing/1?token=")).toBe(200);
    expect(await statusOf("/api/thing/1", { authorization: "Bearer s3cret" })).toBe(200);
    expect(await statusOf("/api/thing/1", { authorization: "Bearer other" })).toBe(401);
    expect(await statusOf("/api/thing/1", { authorization: "Basic czNjcmV0" })).toBe(401);
    expect(await statusOf("/api/thing/1?token=other")).toBe(401);
    expect(await statusFor(door, { host: "evil.example" })).toBe(421);
  });

  test.each([
    [200, { host: "localhost:1" }],
    [200, { host: "[::1]:5001" }],
    [421, { host: "evil.example" }],
    [421, { host: "localhost.evil.example" }],
    [403, { host: "localhost", origin: "https://evil.example" }],
    [403, { host: "localhost:5001", origin: "http://localhost:9" }],
    [403, { host: "localhost", origin: "null" }],
    [403, { host: "localhost", "sec-fetch-site": "cross-site" }],
    [200, { host: "localhost:5001", origin: "http://localhost:5001" }],
  ])("without one, a browser is answered %i to %j", async (status, headers) => {
    const door = await open();
    expect(await statusFor(door, headers)).toBe(status);
  });

  test("pages of origins that are named", async () => {
    const door = await open({ origins: ["https://ci.example"] });
    expect(await statusFor(door, { host: "localhost", origin: "https://ci.example" }, "POST")).toBe(404);
    expect(await statusFor(door, { host: "localhost", origin: "https://other.example" }, "POST")).toBe(403);
  });

  test("with a token, a request that may bring it in its query is answered with it, and no other one", async () => {
    const takesTokenInQuery = ({ method, path }: AskedRequest) => method === "GET" && path === "/api/thing/1";
    const door = await open({ token: "s3cret", takesTokenInQuery });
    const statuses = [
      "/api/thing/1?a=b&token=s3cret",
      "/api/thing/1?token=other",
      "/api/thing/1",
      "/?token=s3cret",
    ].map(async (path) => (await fetch(urlOf(door, path))).status);
    expect(await Promise.all(statuses)).toEqual([200, 401, 401, 401]);
    const refusal = await (await fetch(urlOf(door, "/api/thing/1?token=hunter2"))).json();
    expect(refusal).toMatchObject({ instance: "/api/thing/1" });
  });

  test("with a token, the question of a browser for a page that may ask needs none, and nothing else is answered", async () => {
    const door = await open({ origins: ["https://ci.example"], token: "t" });
    const asks = (origin: string, more: Record<string, string> = { "access-control-request-method": "PUT" }) =>
      statusFor(door, { host: "localhost", origin, ...more }, "OPTIONS");
    expect(await asks("https://ci.example")).toBe(204);
    expect(await asks("https://other.example")).toBe(401);
    expect(await asks("https://ci.example", {})).toBe(401);
    const headers = { origin: "https://ci.example", "access-control-request-method": "PUT" };
    expect(await statusFor(door, { host: "localhost", ...headers })).toBe(401);
    const wanted = { "access-control-request-headers": "authorization" };
    const answer = await fetch(urlOf(door, "/api/thing"), { method: "OPTIONS", headers: { ...headers, ...wanted } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "access-control-allow-origin": "https://ci.example",
      "access-control-allow-methods": expect.stringContaining("PUT") as string,
      "access-control-allow-headers": "authorization",
    });
    const told = await fetch(urlOf(door, "/api/thing/7"), { headers: { ...headers, authorization: "Bearer t" } });
    expect([told.status, told.headers.get("access-control-allow-origin")]).toEqual([200, "https://ci.example"]);
    const unnamed = await fetch(urlOf(await open({ token: "t" }), "/"), { headers: { authorization: "Bearer t" } });
    expect(unnamed.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("anybody at an address that others reach is told to the operator", async () => {
    const warned: [string, LogFields | undefined][] = [];
    const log = { ...silentLog, warn: (message: string, fields?: LogFields) => void warned.push([message, fields]) };
    const door = await open({ address: "0.0.0.0:0", log });
    await open({ address: "0.0.0.0:0", log, token: "t" });
    await open({ log });
    expect(warned).toEqual([
      ["no token is required: every client that reaches this address is served", { address: door.address }],
    ]);
    expect(await statusFor(door, { host: "worker-7.builds" })).toBe(200);
  });
});

describe("answers", () => {
  test.each([
    ["/api/thing/x", 400, "/prob/api/invalid-param-uint", 'id: expected a whole number from 0, found "x"', "#id"],
    ["/api/gone?a=b", 404, "/prob/api/record-not-found", "thing 7 does not exist"],
    ["/nowhere", 404, "/prob/api/record-not-found", "there is nothing at GET /nowhere"],
    ["/api/bug", 500, "/prob/api/internal-server-error", "the server has failed"],
  ])("to %s are problems", async (path, status, type, detail, at = "") => {
    const door = await open();
    const response = await fetch(urlOf(door, path));
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({ type, status, detail, instance: `${path}${at}`, errors: [] });
    expect(response.status).toBe(status);
  });

  test.each([
    ["/", "node", '{"message":"pong"}'],
    ["/?pretty", "node", '{\n  "message": "pong"\n}\n'],
    ["/?pretty=false", "node", '{"message":"pong"}'],
    ["/", "curl/8.5.0", '{\n  "message": "pong"\n}\n'],
  ])("to %s for %s are %j", async (path, agent, text) => {
    const door = await open();
    const response = await fetch(urlOf(door, path), { headers: { "user-agent": agent } });
    expect(await response.text()).toBe(text);
  });
});

test("closing tells what serves, and cuts who does not end", async () => {
  let closing: AbortSignal | undefined;
  const door = await open({
    serves: async (signal) => {
      closing = signal;
      return {
        fetch: () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) })),
      };
    },
  });
  const response = await fetch(urlOf(door, "/"));
  const read = response.text();
  await Promise.all([door.close(), door.close(), expect(read).rejects.toThrow("terminated")]);
  expect(closing?.aborted).toBe(true);
  await expect(fetch(urlOf(door, "/"))).rejects.toThrow("fetch failed");
});
