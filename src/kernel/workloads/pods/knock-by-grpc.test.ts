import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { knockByGrpc } from "./knock-by-grpc.ts";

let server: Http2Server | undefined;
afterEach(() => server?.close());

/** Serves the health protocol as `answer` does, which is given the message that was sent. */
async function serve(answer: (call: ServerHttp2Stream, message: Buffer, path: string) => void): Promise<number> {
  server = createServer();
  server.on("stream", (call, headers) => {
    const pieces: Buffer[] = [];
    call.on("data", (piece: Buffer) => pieces.push(piece));
    call.on("end", () => answer(call, Buffer.concat(pieces), String(headers[":path"])));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** An answer with a message, whose state of the call comes last. */
function reply(call: ServerHttp2Stream, message: readonly number[], code = "0"): void {
  call.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  call.on("wantTrailers", () => call.sendTrailers({ "grpc-status": code }));
  call.end(Buffer.from([0, 0, 0, 0, message.length, ...message]));
}

const never = new AbortController().signal;
const ask = (port: number, service?: string, signal = never) =>
  knockByGrpc({ port, ...(service === undefined ? {} : { service }) }, "127.0.0.1", signal);

test.each([
  [[0x08, 1], { succeeded: true }],
  [[0x08, 2], { succeeded: false, message: 'service unhealthy (responded with "NOT_SERVING")' }],
  [[0x08, 3], { succeeded: false, message: 'service unhealthy (responded with "SERVICE_UNKNOWN")' }],
  [[], { succeeded: false, message: 'service unhealthy (responded with "UNKNOWN")' }],
])("the answer %j is %j", async (message, expected) => {
  const port = await serve((call) => reply(call, message));
  expect(await ask(port)).toEqual(expected);
});

test("the service that is meant is named, as long as its name may be", async () => {
  const asked: [string, Buffer][] = [];
  const port = await serve((call, message, path) => {
    asked.push([path, message]);
    reply(call, [0x08, 1]);
  });
  for (const name of [undefined, "web", "x".repeat(200)]) await ask(port, name);
  const path = "/grpc.health.v1.Health/Check";
  expect(asked).toEqual([
    [path, Buffer.from([0, 0, 0, 0, 0])],
    [path, Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, ...Buffer.from("web")])],
    [path, Buffer.from([0, 0, 0, 0, 203, 0x0a, 0xc8, 1, ...Buffer.from("x".repeat(200))])],
  ]);
});

test("a server without the protocol, one that fails, and one of another kind are told apart", async () => {
  const port = await serve((call, message) => {
    const code = message.subarray(7).toString();
    if (code === "none") call.respond({ ":status": 404 }, { endStream: true });
    else
      call.respond(
        { ":status": 200, "grpc-status": code, "grpc-message": code === "5" ? "50%" : "not%20here" },
        { endStream: true },
      );
  });
  expect(await ask(port, "12")).toEqual({
    succeeded: false,
    message: "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): not here",
  });
  expect(await ask(port, "5")).toEqual({ succeeded: false, message: "error: health rpc failed: code 5: 50%" });
  expect(await ask(port, "none")).toEqual({ succeeded: false, message: "error: health rpc failed: HTTP status 404" });
});

test("who is not there is an error, and who does not answer is waited for until the signal", async () => {
  const port = await serve(() => undefined);
  const impatience = new AbortController();
  const asked = ask(port, undefined, impatience.signal);
  impatience.abort(new Error("time-out"));
  await expect(asked).rejects.toThrow("time-out");
  server?.close();
  await once(server as Http2Server, "close");
  await expect(ask(port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});
