import { once } from "node:events";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { PassThrough, Writable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deferred, silentLog, systemClock } from "#lib/base/index.ts";
import { CertificateFolder } from "#test/support/certificates.ts";
import { openPodStreamServer, type PodStreamServer, type ServedStream } from "../testing/pod-stream-server.ts";
import { type Connection, fixedCredential } from "./client-config.ts";
import { createPodStreams, type PodStreams } from "./pod-streams.ts";

const pod = { namespace: "builds", name: "web" };
const success = { status: "Success", metadata: {} };
const exited = (code: number) => ({
  status: "Failure",
  reason: "NonZeroExitCode",
  details: { causes: [{ reason: "ExitCode", message: `${code}` }] },
});

let server: PodStreamServer;
let streams: PodStreams;
const opened: PodStreams[] = [];

function open(connection: Partial<Connection> = {}): PodStreams {
  const made = createPodStreams({
    clock: systemClock,
    log: silentLog,
    random: () => 0,
    connection: { server: server.url, credentials: fixedCredential({ token: "t" }), ...connection },
  });
  opened.push(made);
  return made;
}

/** The next connection that the server takes. */
function next(): Promise<ServedStream> {
  const taken = deferred<ServedStream>();
  server.serve = taken.resolve;
  return taken.promise;
}

beforeEach(async () => {
  server = await openPodStreamServer();
  streams = open();
});
afterEach(async () => {
  for (const made of opened.splice(0)) made.close();
  await server.close();
});

/** A sink that takes nothing until it is told to. */
function gatedSink() {
  const gate = deferred<void>();
  let size = 0;
  const sink = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, done) => void gate.promise.then(() => ((size += chunk.length), done())),
  });
  return { sink, open: () => gate.resolve(), size: () => size };
}

const manyTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe("exec", () => {
  test("is asked for with its command word by word, gives input to its end, and keeps the outputs apart", async () => {
    const taken = next();
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const ended = streams.exec(pod, {
      command: ["sh", "-c", "a b&c"],
      container: "step",
      stdin: (async function* () {
        yield Buffer.alloc(100_000, "x");
        yield Buffer.from("end");
      })(),
      stdout,
      stderr,
    });
    const stream = await taken;
    const url = new URL(stream.url, server.url);
    expect(url.pathname).toBe("/api/v1/namespaces/builds/pods/web/exec");
    expect([...url.searchParams].filter(([name]) => name !== "command")).toEqual([
      ["container", "step"],
      ["stdin", "true"],
      ["stdout", "true"],
      ["stderr", "true"],
    ]);
    expect(url.searchParams.getAll("command")).toEqual(["sh", "-c", "a b&c"]);
    expect(stream.headers.authorization).toBe("Bearer t");
    await expect.poll(() => stream.heard(255)).toEqual(Buffer.of(0));
    expect(stream.heard(0).toString()).toBe(`${"x".repeat(100_000)}end`);
    for (const channel of [1, 2, 3]) stream.say(channel, "");
    stream.say(1, "out");
    stream.say(2, "err");
    stream.exit(exited(42));
    expect(await ended).toEqual({ exitCode: 42 });
    expect([await text(stdout), await text(stderr)]).toEqual(["out", "err"]);
  });

  test("with a terminal tells its sizes, and has one output", async () => {
    const taken = next();
    const sizes = new PassThrough({ objectMode: true });
    const ended = streams.exec(pod, {
      command: ["sh"],
      stdout: new PassThrough().resume(),
      stderr: new PassThrough(),
      terminal: sizes,
    });
    const stream = await taken;
    expect([...new URL(stream.url, server.url).searchParams]).toEqual([
      ["stdout", "true"],
      ["tty", "true"],
      ["command", "sh"],
    ]);
    sizes.write({ columns: 80, rows: 24 });
    await expect.poll(() => stream.heard(4).toString()).toBe('{"Width":80,"Height":24}');
    sizes.write({ columns: 100, rows: 50 });
    await expect.poll(() => stream.heard(4).toString()).toContain('{"Width":100,"Height":50}');
    stream.exit(exited(5));
    expect(await ended).toEqual({ exitCode: 5 });
  });

  test("of an old server tells it no end of the input", async () => {
    server.protocols = ["v4.channel.k8s.io"];
    const taken = next();
    const ended = streams.exec(pod, {
      command: ["true"],
      stdin: (async function* () {
        yield Buffer.from("all");
      })(),
    });
    const stream = await taken;
    await expect.poll(() => stream.heard(0).toString()).toBe("all");
    stream.exit(success);
    expect(await ended).toEqual({ exitCode: 0 });
    expect(stream.heard(255)).toHaveLength(0);
  });

  test("that the server refuses is an ApiError, with the words of what stands between too", async () => {
    const refusal = {
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      reason: "NotFound",
      code: 404,
      message: "no pod",
    };
    server.refuse = () => [404, JSON.stringify(refusal)];
    await expect(streams.exec(pod, { command: ["x"] })).rejects.toMatchObject({ name: "ApiError", message: "no pod" });
    server.refuse = () => [502, "bad gateway"];
    await expect(streams.exec(pod, { command: ["x"] })).rejects.toThrow("502: bad gateway");
    server.refuse = undefined;
    server.protocols = ["other"];
    await expect(streams.exec(pod, { command: ["x"] })).rejects.toMatchObject({ code: "connection-failed" });
  });

  test("asks for credentials once more when they are refused", async () => {
    let token = "old";
    const credentials = {
      get: () => Promise.resolve({ token }),
      refused() {
        token = "new";
        return true;
      },
    };
    server.refuse = ({ authorization }) => (authorization === "Bearer new" ? undefined : [401, "no"]);
    server.serve = (stream) => stream.exit(success);
    expect(await open({ credentials }).exec(pod, { command: ["x"] })).toEqual({ exitCode: 0 });
  });

  test("of a program that cannot be started is an ApiError, one that breaks off is not taken for an end", async () => {
    server.serve = (stream) => stream.exit({ status: "Failure", reason: "InternalError", code: 500, message: "no sh" });
    await expect(streams.exec(pod, { command: ["x"] })).rejects.toMatchObject({ name: "ApiError", message: "no sh" });
    server.serve = (stream) => stream.socket.terminate();
    const stdout = new PassThrough();
    await expect(streams.exec(pod, { command: ["x"], stdout })).rejects.toMatchObject({ code: "connection-failed" });
    expect(stdout.destroyed).toBe(true);
  });

  test("waits for a reader that is slow, and loses nothing of what came before the end", async () => {
    const { sink, open: go, size } = gatedSink();
    const taken = next();
    const ended = streams.exec(pod, { command: ["x"], stdout: sink });
    const stream = await taken;
    const part = Buffer.alloc(2 ** 20);
    for (let count = 0; count < 32; count++) stream.say(1, part);
    await manyTurns();
    // What both systems hold for a connection is a few MiB.
    expect(stream.socket.bufferedAmount).toBeGreaterThan(8 * 2 ** 20);
    stream.exit(success);
    go();
    expect(await ended).toEqual({ exitCode: 0 });
    await once(sink, "finish");
    expect(size()).toBe(32 * 2 ** 20);
  });

  test("takes no more of its input than the program does", async () => {
    const taken = next();
    let given = 0;
    const ended = streams.exec(pod, {
      command: ["x"],
      stdin: (async function* () {
        for (; given < 64; given++) yield Buffer.alloc(2 ** 20);
      })(),
    });
    const stream = await taken;
    stream.socket.pause();
    await manyTurns();
    expect(given).toBeLessThan(32);
    stream.socket.resume();
    await expect.poll(() => stream.heard(255)).toHaveLength(1);
    expect(stream.heard(0)).toHaveLength(64 * 2 ** 20);
    stream.exit(success);
    await ended;
  });

  test("ends with its signal, with a reader that goes away, and with input that cannot be read", async () => {
    const enough = new Error("enough");
    const abort = new AbortController();
    const first = next();
    const aborted = expect(streams.exec(pod, { command: ["x"], signal: abort.signal })).rejects.toBe(enough);
    const one = await first;
    abort.abort(enough);
    await aborted;
    await one.closed;
    await expect(streams.exec(pod, { command: ["x"], signal: abort.signal })).rejects.toBe(enough);

    const second = next();
    const stdout = new PassThrough();
    const left = expect(streams.exec(pod, { command: ["x"], stdout })).rejects.toMatchObject({ code: "client-closed" });
    const two = await second;
    stdout.destroy();
    await left;
    await two.closed;

    // oxlint-disable-next-line require-yield
    const broken = (async function* (): AsyncGenerator<Buffer, void> {
      throw new Error("no room");
    })();
    await expect(streams.exec(pod, { command: ["x"], stdin: broken })).rejects.toThrow("no room");
  });

  test("speaks TLS with the certificates of the connection", async () => {
    const folder = await CertificateFolder.create();
    try {
      await folder.sign("server", "server");
      await folder.sign("client", "client");
      await server.close();
      const [key, cert, ca] = ["server.key", "server.crt", "ca.crt"].map((name) => folder.read(name).toString());
      server = await openPodStreamServer(
        createTlsServer({
          key: key ?? "",
          cert: cert ?? "",
          ca: ca ?? "",
          requestCert: true,
          rejectUnauthorized: true,
        }),
      );
      server.serve = (stream) => stream.exit(success);
      const secure = open({
        server: `https://127.0.0.1:${server.port}/below`,
        certificateAuthority: ca ?? "",
        credentials: fixedCredential({
          certificate: folder.read("client.crt").toString(),
          key: folder.read("client.key").toString(),
        }),
      });
      expect(await secure.exec(pod, { command: ["x"] })).toEqual({ exitCode: 0 });
      const untrusting = open({ server: `https://127.0.0.1:${server.port}` });
      await expect(untrusting.exec(pod, { command: ["x"] })).rejects.toMatchObject({ code: "certificate-untrusted" });
    } finally {
      folder.close();
    }
  });

  test("ends when everything is closed", async () => {
    const taken = next();
    const ended = expect(streams.exec(pod, { command: ["x"] })).rejects.toMatchObject({ code: "client-closed" });
    await taken;
    streams.close();
    await ended;
    await expect(streams.exec(pod, { command: ["x"] })).rejects.toMatchObject({ code: "client-closed" });
  });
});

describe("a forwarded port", () => {
  /** Names the port on both channels, as servers begin. */
  const begin = (stream: ServedStream, port: number): void => {
    for (const channel of [0, 1]) stream.say(channel, Uint8Array.of(port & 255, port >> 8));
  };

  test("carries both directions as they are", async () => {
    const taken = next();
    const port = await streams.portForward(pod, 5010);
    const stream = await taken;
    expect(stream.url).toBe("/api/v1/namespaces/builds/pods/web/portforward?ports=5010");
    begin(stream, 5010);
    port.write("question");
    await expect.poll(() => stream.heard(0).toString()).toBe("question");
    stream.say(0, "answer");
    stream.socket.close(1000);
    expect(await text(port)).toBe("answer");
  });

  test("carries HTTP/2, to which it is a socket", async () => {
    const far = createHttp2Server((request, response) => void request.pipe(response));
    far.listen(0, "127.0.0.1");
    await once(far, "listening");
    server.serve = (stream) => {
      begin(stream, 80);
      const near = connect({ port: (far.address() as AddressInfo).port, host: "127.0.0.1", noDelay: true });
      stream.socket.on("message", (data: Buffer) => near.write(data.subarray(1)));
      near.on("data", (chunk: Buffer) => stream.say(0, chunk));
      near.once("close", () => stream.socket.close(1000));
      stream.socket.once("close", () => near.destroy());
    };
    const port = await streams.portForward(pod, 80);
    const session = connectHttp2("http://worker", { createConnection: () => port });
    const request = session.request({ ":method": "POST", ":path": "/" });
    const sent = Buffer.alloc(3 * 2 ** 20, "body");
    request.end(sent);
    expect((await buffer(request)).equals(sent)).toBe(true);
    session.close();
    await once(port, "close");
    far.close();
  });

  test("on which nothing listens, or that breaks, fails", async () => {
    server.serve = (stream) => {
      begin(stream, 81);
      stream.say(1, "connection refused");
    };
    await expect(text(await streams.portForward(pod, 81))).rejects.toMatchObject({
      code: "forward-failed",
      message: expect.stringContaining("connection refused"),
    });
    server.serve = (stream) => begin(stream, 82);
    await expect(text(await streams.portForward(pod, 81))).rejects.toMatchObject({ code: "malformed-answer" });
    server.serve = (stream) => stream.socket.terminate();
    await expect(text(await streams.portForward(pod, 81))).rejects.toMatchObject({ code: "connection-failed" });
  });

  test("waits for a reader that is slow, and gives everything that came before the end", async () => {
    const taken = next();
    const port = await streams.portForward(pod, 83);
    const stream = await taken;
    begin(stream, 83);
    const part = Buffer.alloc(2 ** 20);
    for (let count = 0; count < 32; count++) stream.say(0, part);
    stream.socket.close(1000);
    await manyTurns();
    expect(stream.socket.bufferedAmount).toBeGreaterThan(8 * 2 ** 20);
    expect(await buffer(port)).toHaveLength(32 * 2 ** 20);
  });

  test("ends with its signal and when it is destroyed", async () => {
    const abort = new AbortController();
    const first = next();
    const port = await streams.portForward(pod, 84, { signal: abort.signal });
    const one = await first;
    abort.abort(new Error("enough"));
    await expect(once(port, "close")).rejects.toThrow("enough");
    await one.closed;
    const second = next();
    (await streams.portForward(pod, 84)).destroy();
    await (await second).closed;
  });
});
