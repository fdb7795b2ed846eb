import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import {
  acceptChannels,
  asksForWebSocket,
  canEndChannels,
  type ChannelSocket,
  channels,
  chooseProtocol,
  commandProtocols,
  handshakeProblem,
  portProtocols,
} from "./index.ts";
import { HandshakeRefused, openTestClient, type TestClient } from "./testing/index.ts";

const server = createServer();
let clock = new FakeClock();
let pair: { readonly client: TestClient; readonly socket: ChannelSocket };

beforeEach(async () => {
  clock = new FakeClock();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = deferred<ChannelSocket>();
  server.once("upgrade", (request, socket, head) => {
    acceptChannels({ request, socket, head }, "v5.channel.k8s.io", clock).then(accepted.resolve, accepted.reject);
  });
  const { port } = server.address() as AddressInfo;
  const client = await openTestClient(`ws://127.0.0.1:${port}/`, {
    protocols: ["v4.channel.k8s.io", "v5.channel.k8s.io"],
  });
  pair = { client, socket: await accepted.promise };
});

afterEach(async () => {
  pair.client.vanish();
  pair.socket.cut();
  server.close();
  await once(server, "close");
});

const key = "AAAAAAAAAAAAAAAAAAAAAA==";
const headers = { upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": key };

test("a handshake that cannot be accepted says why", () => {
  expect(asksForWebSocket({ upgrade: "WebSocket" })).toBe(true);
  expect(asksForWebSocket({ upgrade: "SPDY/3.1" })).toBe(false);
  expect(handshakeProblem({ method: "GET", headers })).toBeUndefined();
  expect(handshakeProblem({ method: "POST", headers })).toMatch(/by GET, not by POST/);
  expect(handshakeProblem({ method: "GET", headers: { ...headers, "sec-websocket-version": "12" } })).toMatch(/"12"/);
  expect(handshakeProblem({ method: "GET", headers: { ...headers, "sec-websocket-key": "short" } })).toMatch(
    /16 bytes/,
  );
});

test("of the protocols that are offered our best one is taken, and none that we do not speak", () => {
  expect(chooseProtocol("v4.channel.k8s.io, v5.channel.k8s.io", commandProtocols)).toBe("v5.channel.k8s.io");
  expect(chooseProtocol("v4.channel.k8s.io,channel.k8s.io", commandProtocols)).toBe("v4.channel.k8s.io");
  expect(chooseProtocol("SPDY/3.1+portforward.k8s.io", commandProtocols)).toBeUndefined();
  expect(chooseProtocol(undefined, commandProtocols)).toBeUndefined();
  expect(chooseProtocol("v4.channel.k8s.io", portProtocols)).toBe("v4.channel.k8s.io");
  expect(commandProtocols.map(canEndChannels)).toEqual([true, false]);
});

test("messages reach the receiver one at a time, in order, with their channel; empty ones are passed over", async () => {
  const { client, socket } = pair;
  const heard: string[] = [];
  const gates = [deferred<void>(), deferred<void>()];
  client.send(0, "one");
  client.sendRaw("");
  client.send(channels.resize, "two");
  client.send(0, "");
  socket.listen((channel, payload) => {
    heard.push(`${channel} ${payload.toString()}`);
    return gates[heard.length - 1]?.promise;
  });
  await expect.poll(() => heard).toEqual(["0 one"]);
  gates[0]?.resolve();
  await expect.poll(() => heard).toEqual(["0 one", "4 two"]);
  gates[1]?.resolve();
  await expect.poll(() => heard).toEqual(["0 one", "4 two", "0 "]);
});

test("what is sent arrives whole on its channel; a client that does not read holds the sender up", async () => {
  const { client, socket } = pair;
  socket.listen(() => undefined);
  const long = Buffer.alloc(3 * 1024 * 1024, "x");
  client.pause();
  let sent = 0;
  const sending = (async () => {
    for (; sent < 16; sent++) if (!(await socket.send(1, long))) return;
  })();
  // What the system holds for both ends is a few MiB; a sender that is not held up is done by then.
  for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toBeLessThan(16);
  client.resume();
  await sending;
  await socket.send(channels.stderr, Buffer.from("end"));
  await expect.poll(() => client.heard(2).toString()).toBe("end");
  expect(client.heard(1)).toHaveLength(16 * long.length);
});

test("a receiver that fails closes the connection with its reason; nothing can be sent any more", async () => {
  const { client, socket } = pair;
  socket.listen(() => {
    throw new Error("no such thing");
  });
  client.send(0, "x");
  expect(await client.closed).toEqual({ code: 1011, reason: "no such thing" });
  expect(await socket.closed).toMatchObject({ code: 1011 });
  expect(await socket.send(1, Buffer.from("late"))).toBe(false);
});

test("a reason that is too long for a frame is cut", async () => {
  pair.socket.close(1011, "é".repeat(500));
  expect((await pair.client.closed).reason).toBe("é".repeat(61));
});

test("a server that speaks none of it refuses the handshake", async () => {
  const other = createServer((_request, response) => response.writeHead(501).end("not here"));
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await expect(openTestClient(`ws://127.0.0.1:${port}/`)).rejects.toEqual(new HandshakeRefused(501, "not here"));
  other.closeAllConnections();
  other.close();
});

test("a client that goes away without a word is an end", async () => {
  pair.socket.listen(() => undefined);
  pair.client.vanish();
  expect(await pair.socket.closed).toMatchObject({ code: 1006 });
});

test("an end that answers pings is kept, one that does not is cut after a minute", async () => {
  const { client, socket } = pair;
  const heard: string[] = [];
  socket.listen((_channel, payload) => void heard.push(payload.toString()));
  let ended = false;
  void socket.closed.then(() => (ended = true));
  for (const round of [1, 2, 3]) {
    await clock.advance(30_000);
    await expect.poll(() => client.pings).toBe(round);
    // What is sent after the answer to a ping arrives after it.
    client.send(0, `${round}`);
    await expect.poll(() => heard).toHaveLength(round);
  }
  expect(ended).toBe(false);
  client.pause();
  await clock.advance(60_000);
  await expect.poll(() => ended).toBe(true);
});
