import { createServer, type ServerResponse } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { engineAddress, formatAddress, isLocal } from "./engine-address.ts";
import { EngineClient } from "./engine-client.ts";
import { jsonLines } from "./json-lines.ts";
import { FrameReader } from "./stream-frames.ts";

const addressOf = (variables: Readonly<Record<string, string>>) =>
  engineAddress({ variable: (name) => variables[name], home: "/home/me" });

test.each([
  [{}, "unix:///var/run/docker.sock", true],
  [{ DOCKER_HOST: "unix:///run/user/1/docker.sock" }, "unix:///run/user/1/docker.sock", true],
  [{ DOCKER_HOST: "tcp://box" }, "tcp://box:2375", false],
  [{ DOCKER_HOST: "tcp://box", DOCKER_TLS_VERIFY: "1" }, "tcp://box:2376", false],
  [{ DOCKER_HOST: "tcp://[::1]:80" }, "tcp://[::1]:80", false],
])("the engine of %j is at %s", (variables, address, local) => {
  const found = addressOf(variables);
  if (!found.ok) throw found.error;
  expect(formatAddress(found.value)).toBe(address);
  expect(isLocal(found.value)).toBe(local);
});

test("certificates are those of DOCKER_CERT_PATH, else of the user, and are checked when that is asked for", () => {
  expect(addressOf({ DOCKER_HOST: "tcp://box:1", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: "/c" })).toMatchObject({
    value: { tls: { folder: "/c", verifies: true } },
  });
  expect(addressOf({ DOCKER_HOST: "https://box:1" })).toMatchObject({
    value: { tls: { folder: "/home/me/.docker", verifies: false } },
  });
});

test.each(["ssh://me@box", "npipe:////./pipe/docker", "unix://relative", "tcp://", "tcp://box/path", "box:2375"])(
  "an address such as %s is refused with what is expected",
  (given) => {
    expect(addressOf({ DOCKER_HOST: given })).toMatchObject({
      error: { code: "engine-address", message: expect.stringContaining(`found ${given}`) },
    });
  },
);

const frame = (kind: number, text: string): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = kind;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
};

test("frames are the same wherever chunks end", () => {
  const bytes = Buffer.concat([frame(1, "one\n"), frame(2, ""), frame(2, "two"), frame(1, "three")]);
  for (let size = 1; size <= bytes.length; size++) {
    const told: string[] = [];
    const reader = new FrameReader((stream, payload) => told.push(`${stream} ${payload.toString()}`));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(told).toEqual(["stdout one\n", "stderr two", "stdout three"]);
  }
});

test("what is no frame is refused, not waited for", () => {
  const reader = new FrameReader(() => undefined);
  expect(() => reader.push(Buffer.from("plain text output"))).toThrow("not in frames");
});

test("lines of JSON come whole, also cut within a character and without an end", async () => {
  const bytes = Buffer.from('{"a":"ä"}\r\n\n{"b":1}');
  async function* bytewise() {
    for (const byte of bytes) yield await Promise.resolve(Uint8Array.of(byte));
  }
  const found = [];
  for await (const value of jsonLines(bytewise())) found.push(value);
  expect(found).toEqual([{ a: "ä" }, { b: 1 }]);
});

/** How an engine of a test hangs, and whose time passes meanwhile. */
interface Frozen {
  readonly clock: FakeClock;
  readonly isSilent: (url: string) => boolean;
}

/** An engine of a test: answers `_ping` with a version, and everything else as told; what it is silent to, once it wakes. */
async function fakeEngine(
  version: string,
  answer: (url: string) => readonly [status: number, body: string],
  { clock = new FakeClock(), isSilent }: Partial<Frozen> = {},
) {
  const directory = await mkdtemp(join(tmpdir(), "slipway-fake-engine-"));
  const path = join(directory, "d.sock");
  const asked: string[] = [];
  const unanswered: (() => void)[] = [];
  const respond = (url: string, response: ServerResponse) => {
    if (url === "/_ping") return void response.setHeader("api-version", version).end("OK");
    const [status, body] = answer(url);
    response.writeHead(status).end(body);
  };
  const server = createServer((request, response) => {
    const { url = "" } = request;
    asked.push(`${request.method} ${url}`);
    if (isSilent?.(url) === true) unanswered.push(() => respond(url, response));
    else respond(url, response);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = new EngineClient({ kind: "socket", path }, clock);
  return {
    client,
    asked,
    /** Resolves when it has been silent to so many requests. */
    silentTo: (count: number) => expect.poll(() => unanswered.length).toBe(count),
    wake: () => {
      for (const respondNow of unanswered.splice(0)) respondNow();
    },
    async close() {
      client.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true });
    },
  };
}

test.each([
  ["1.41", "/v1.41/x?a=b+c"],
  ["1.47", "/v1.47/x?a=b+c"],
  ["1.99", "/v1.47/x?a=b+c"],
])("an engine that speaks %s is asked for %s", async (version, path) => {
  const engine = await fakeEngine(version, () => [200, "{}"]);
  await engine.client.call("GET", "/x", { query: { a: "b c" } });
  expect(engine.asked).toEqual(["GET /_ping", `GET ${path}`]);
  await engine.close();
});

test("an engine that is too old is told, with what to do", async () => {
  const engine = await fakeEngine("1.40", () => [200, "{}"]);
  await expect(engine.client.call("GET", "/x")).rejects.toMatchObject({ code: "engine-too-old" });
  await engine.close();
});

test.each([
  [404, '{"message":"no such container"}', "no such container"],
  [500, "a proxy's page", "a proxy's page"],
  [409, "", "the engine gave no reason"],
])("a refusal with %i and %j says %j", async (status, body, message) => {
  const engine = await fakeEngine("1.41", () => [status, body]);
  await expect(engine.client.call("GET", "/x")).rejects.toMatchObject({ code: "engine-refusal", status, message });
  await engine.close();
});

test("nobody at the address is unreachable, with the command that installs an engine", async () => {
  const client = new EngineClient({ kind: "socket", path: "/nowhere/docker.sock" }, new FakeClock());
  await expect(client.call("GET", "/x")).rejects.toMatchObject({
    code: "engine-unreachable",
    hint: expect.stringContaining("apt-get install docker.io"),
  });
});

test("an abort ends a request with the signal's reason", async () => {
  const engine = await fakeEngine("1.41", () => [200, "{}"]);
  await expect(engine.client.call("GET", "/x", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
    "enough",
  );
  await engine.close();
});

/** Its time does not pass; what is due tells of a process that goes on. */
class StandingClock extends FakeClock {
  readonly timers = new Set<() => void>();

  override after(_delay: number, run: () => void) {
    const timer = () => {
      this.timers.delete(timer);
      run();
    };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  /** After an hour every timer is due, and all of them run before anything is read. */
  goOn() {
    // Not those that these set.
    const due = [...this.timers];
    for (const run of due) run();
  }
}

describe("an engine that is frozen", () => {
  test.each([
    ["at once", () => true, "/_ping"],
    ["after its first word", (url: string) => url !== "/_ping", "/containers/c/json"],
  ])("%s is told by what it does not answer for a minute", async (_when, isSilent, unanswered) => {
    const clock = new FakeClock();
    const engine = await fakeEngine("1.41", () => [200, "{}"], { clock, isSilent });
    let isTold = false;
    const told = expect(
      engine.client.call("GET", "/containers/c/json").finally(() => (isTold = true)),
    ).rejects.toMatchObject({
      code: "engine-unreachable",
      message: expect.stringMatching(`hangs: no answer to GET ${unanswered} for 60 s`),
    });
    await engine.silentTo(1);
    await clock.advance(59_999);
    expect(isTold).toBe(false);
    await clock.advance(1);
    await told;
    await engine.close();
  });

  test("has longer for what it does, and no limit for what is streamed", async () => {
    const clock = new FakeClock();
    const isSilent = (url: string) => url.includes("/create") || url.includes("/wait");
    const engine = await fakeEngine("1.41", () => [200, "{}"], { clock, isSilent });
    const enough = new AbortController();
    const waiting = engine.client.stream("POST", "/containers/c/wait", { signal: enough.signal });
    const told = expect(engine.client.call("POST", "/containers/create")).rejects.toThrow(
      "POST /containers/create for 300 s",
    );
    await engine.silentTo(2);
    await clock.advance(300_000);
    await told;
    await clock.advance(10_000_000);
    enough.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await engine.close();
  });

  test.each([
    ["beside that", 200_000, "500 s"],
    ["also where that is no whole number", 0.5, "300.0005 s"],
  ])("has the time that a request takes by itself, %s", async (_what, lastsMs, limit) => {
    const clock = new FakeClock();
    const engine = await fakeEngine("1.41", () => [200, "{}"], { clock, isSilent: (url) => url.includes("/stop") });
    let isTold = false;
    const told = expect(
      engine.client.call("POST", "/containers/c/stop", { lastsMs }).finally(() => (isTold = true)),
    ).rejects.toThrow(`for ${limit}`);
    await engine.silentTo(1);
    await clock.advance(300_000);
    expect(isTold).toBe(false);
    await clock.advance(lastsMs);
    await told;
    await engine.close();
  });

  test("has answered when its answer lies in the socket of a process that stood still", async () => {
    const clock = new StandingClock();
    const engine = await fakeEngine("1.41", () => [200, '{"a":1}'], { clock, isSilent: (url) => url !== "/_ping" });
    const asking = engine.client.call("GET", "/x");
    await engine.silentTo(1);
    engine.wake();
    clock.goOn();
    expect(await asking).toEqual({ a: 1 });
    expect(clock.timers.size).toBe(0);
    await engine.close();
  });
});

test("what switches to another protocol is no engine", async () => {
  const server = createServer(({ socket }) =>
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"),
  );
  const directory = await mkdtemp(join(tmpdir(), "slipway-fake-engine-"));
  const socketPath = join(directory, "d.sock");
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const found = addressOf({ DOCKER_HOST: `unix://${socketPath}` });
  if (!found.ok) throw found.error;
  const engine = new EngineClient(found.value, new FakeClock());
  await expect(engine.call("GET", "/info")).rejects.toThrow("closed without an answer");
  engine.close();
  server.close();
  await rm(directory, { recursive: true });
});
