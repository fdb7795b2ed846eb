import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import { FramedChannel } from "./framed-channel.ts";

let server: Http2Server;
let connections: Duplex[];
/** Waited for before each connection. */
let door: Promise<void>;
let calls: ServerHttp2Stream[];
let channel: FramedChannel;
let clock: FakeClock;

beforeEach(async () => {
  [connections, calls, door] = [[], [], Promise.resolve()];
  server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.write(emptyMessage);
    calls.push(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  clock = new FakeClock();
  channel = new FramedChannel({
    clock,
    async connect(signal) {
      await door;
      signal.throwIfAborted();
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      connections.push(socket);
      // As connections through something that forwards do.
      signal.addEventListener("abort", () => socket.destroy(), { once: true });
      await once(socket, "connect");
      return socket;
    },
  });
});
afterEach(async () => {
  channel.close();
  for (const connection of connections) connection.destroy();
  server.close();
  await once(server, "close");
});

const emptyMessage = Buffer.alloc(5);
const forEver = new AbortController().signal;

/** A call from whose beginning something was read. */
function call(signal = forEver) {
  const answers = channel.stream("/any.Service/Call", emptyMessage, signal);
  return { answers, first: answers.next() };
}

test("calls that begin at once share one connection", async () => {
  const all = [call(), call(), call()];
  for (const { first } of all) expect(await first).toMatchObject({ done: false });
  expect(connections).toHaveLength(1);
});

test("closing ends every call", async () => {
  const all = [call(), call()];
  for (const { first } of all) await first;
  channel.close();
  for (const { answers } of all) await expect(answers.next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(call().first).rejects.toMatchObject({ code: "CANCELLED" });
});

test("a call that is given up while another one waits for the connection, too, ends; the other goes on", async () => {
  for (const givenUp of [0, 1]) {
    const opening = deferred<void>();
    door = opening.promise;
    const ends = [new AbortController(), new AbortController()];
    const all = ends.map(({ signal }) => call(signal));
    const reason = new Error("not wanted any more");
    ends[givenUp]?.abort(reason);
    await expect(all[givenUp]?.first).rejects.toBe(reason);
    opening.resolve();
    expect(await all[1 - givenUp]?.first).toMatchObject({ done: false });
    for (const connection of connections.splice(0)) connection.destroy();
    await expect(all[1 - givenUp]?.answers.next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  }
});

test("a connection that nobody waits for any more is not opened", async () => {
  const opening = deferred<void>();
  door = opening.promise;
  const end = new AbortController();
  const { first } = call(end.signal);
  end.abort(new Error("not wanted any more"));
  await expect(first).rejects.toThrow("not wanted any more");
  opening.resolve();
  expect(await call().first).toMatchObject({ done: false });
  expect(connections).toHaveLength(1);
});

test("a connection that comes when nobody waits for it any more is closed", async () => {
  const opening = deferred<void>();
  const heedless = new FramedChannel({
    async connect() {
      await opening.promise;
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      connections.push(socket);
      await once(socket, "connect");
      return socket;
    },
  });
  const end = new AbortController();
  const first = heedless.stream("/any.Service/Call", emptyMessage, end.signal).next();
  end.abort(new Error("not wanted any more"));
  await expect(first).rejects.toThrow("not wanted any more");
  opening.resolve();
  await expect.poll(() => connections[0]?.destroyed).toBe(true);
});

test("the end of the call that has opened the connection is not that of the others", async () => {
  const end = new AbortController();
  const opener = call(end.signal);
  await opener.first;
  const other = call();
  await other.first;
  end.abort(new Error("over"));
  await expect(opener.answers.next()).rejects.toThrow("over");
  calls[1]?.write(emptyMessage);
  expect(await other.answers.next()).toMatchObject({ done: false });
  expect(connections).toHaveLength(1);
});

test("a connection that has gone is opened anew", async () => {
  const { answers, first } = call();
  await first;
  connections[0]?.destroy();
  await expect(answers.next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await call().first).toMatchObject({ done: false });
  expect(connections).toHaveLength(2);
});

test("a message that is begun and comes in drops ends its call; silence between messages does not", async () => {
  const { answers, first } = call();
  await first;
  await clock.advance(3_600_000);
  calls[0]?.write(emptyMessage);
  expect(await answers.next()).toMatchObject({ done: false });
  const next = answers.next();
  const over = new AbortController();
  const refused = next.catch((thrown: unknown) => thrown).finally(() => over.abort());
  calls[0]?.write(Buffer.from([0, 0, 1, 0, 0]));
  while (!over.signal.aborted) {
    if (calls[0]?.writable === true) calls[0].write("x");
    await clock.advance(1000);
  }
  expect(await refused).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("whole in time") });
});
