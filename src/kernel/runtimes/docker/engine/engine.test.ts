import { createServer } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { engineAddress, formatAddress, isLocal } from "./engine-address.ts";
import { EngineClient, type EnginePatience } from "./engine-client.ts";
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

/** How an engine of a test hangs, and for how long that is borne. */
interface Frozen {
  readonly patience: EnginePatience;
  readonly isSilent: (url: string) => boolean;
}

/** An engine of a test: answers `_ping` with a version, and everything else as told. */
async function fakeEngine(
  version: string,
  answer: (url: string) => readonly [status: number, body: string],
  { patience, isSilent }: Partial<Frozen> = {},
) {
  const directory = await mkdtemp(join(tmpdir(), "slipway-fake-engine-"));
  const path = join(directory, "d.sock");
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (isSilent?.(request.url ?? "") === true) return;
    if (request.url === "/_ping") return void response.setHeader("api-version", version).end("OK");
    const [status, body] = answer(request.url ?? "");
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = new EngineClient({ kind: "socket", path }, patience);
  return {
    client,
    asked,
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
  const client = new EngineClient({ kind: "socket", path: "/nowhere/docker.sock" });
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

describe("an engine that is frozen", () => {
  const impatience: EnginePatience = { questionMs: 50, changeMs: 100 };
  const patient = (): { -readonly [K in keyof EnginePatience]: number } => ({ questionMs: 60_000, changeMs: 60_000 });

  test("at once is told by what it does not answer", async () => {
    const engine = await fakeEngine("1.41", () => [200, "{}"], { patience: impatience, isSilent: () => true });
    await expect(engine.client.call("GET", "/containers/c/json")).rejects.toMatchObject({
      code: "engine-unreachable",
      message: expect.stringMatching("hangs: no answer to GET /_ping for 0.05 s"),
    });
    await engine.close();
  });

  /** One that has said its version, however long that took here, and is silent from now on where that is told. */
  async function frozenLater(isSilent: Frozen["isSilent"]) {
    const patience = patient();
    const engine = await fakeEngine("1.41", () => [200, "{}"], { patience, isSilent });
    await engine.client.call("GET", "/version");
    Object.assign(patience, impatience);
    return engine;
  }

  test("after its first word is told by what it does not answer", async () => {
    const engine = await frozenLater((url) => url.includes("/containers"));
    await expect(engine.client.call("GET", "/containers/c/json")).rejects.toMatchObject({
      code: "engine-unreachable",
      message: expect.stringMatching("hangs: no answer to GET /containers/c/json for 0.05 s"),
    });
    await engine.close();
  });

  test("has longer for what it does, and no limit for what is streamed", async () => {
    const engine = await frozenLater((url) => url.includes("/create") || url.includes("/wait"));
    await expect(engine.client.call("POST", "/containers/create")).rejects.toThrow("POST /containers/create for 0.1 s");
    const enough = new AbortController();
    const waiting = engine.client.stream("POST", "/containers/c/wait", { signal: enough.signal });
    await expect(engine.client.call("POST", "/containers/create")).rejects.toThrow("hangs");
    enough.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await engine.close();
  });

  test.each([
    ["beside that", 200, "0.3 s"],
    ["but for no longer than timers last", 2 ** 40, `${(2 ** 31 - 1) / 1000} s`],
  ])("has the time that a request takes by itself, %s", async (_what, lastsMs, limit) => {
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort(new Error("time-out")));
    try {
      const engine = await fakeEngine("1.41", () => [200, "{}"], { patience: impatience, isSilent: () => false });
      timeout.mockImplementationOnce(() => new AbortController().signal);
      await expect(engine.client.call("POST", "/containers/c/stop", { lastsMs })).rejects.toThrow(`for ${limit}`);
      await engine.close();
    } finally {
      timeout.mockRestore();
    }
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
  const engine = new EngineClient(found.value);
  await expect(engine.call("GET", "/info")).rejects.toThrow("closed without an answer");
  engine.close();
  server.close();
  await rm(directory, { recursive: true });
});
