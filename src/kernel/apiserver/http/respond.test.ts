import { once } from "node:events";
import { createServer, get, IncomingMessage, type RequestListener, ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { SlipwayError, systemClock } from "#lib/base/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import type { Exchange } from "./exchange.ts";
import {
  jsonReply,
  refusalOf,
  type Reply,
  send,
  sendStatus,
  setWarnings,
  type Streamed,
  textReply,
} from "./respond.ts";
import { SlowReaders } from "./slow-readers.ts";

const readers = new SlowReaders(systemClock);
const blank = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** What a client gets from this handler. */
async function answerOf(
  handler: RequestListener,
  options: { readonly method?: string; readonly path?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const server = createServer(handler);
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const request = get({ host: "127.0.0.1", port, agent: false, ...options });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const sending =
  (reply: Reply): RequestListener =>
  (request, response) => {
    const query = new URL(request.url ?? "", "http://localhost").searchParams;
    void send({ request, response, query, readers } as unknown as Exchange, reply);
  };

/** A body that is made while it is sent. */
const streamed = (parts: readonly Buffer[], length?: number): Streamed => ({
  parts: (async function* () {
    for (const part of parts) yield await Promise.resolve([part]);
  })(),
  ...(length === undefined ? {} : { length }),
});

describe("sending", () => {
  const parts = ["one,", "two,", "three"].map((text) => Buffer.from(text));
  const partly = (length?: number): Reply => ({ code: 201, contentType: "text/x", body: streamed(parts, length) });

  test("a reply in parts is one body with its length", async () => {
    const { status, headers, body } = await answerOf(sending(partly(13)));
    expect([status, headers["content-type"], headers["content-length"]]).toEqual([201, "text/x", "13"]);
    expect(body.toString()).toBe("one,two,three");
  });

  test("a reply whose length is not known comes in chunks", async () => {
    const long = [...parts, Buffer.alloc(5000, "x")];
    const { headers, body } = await answerOf(sending({ code: 200, contentType: "text/x", body: streamed(long) }));
    expect([headers["content-length"], headers["transfer-encoding"]]).toEqual([undefined, "chunked"]);
    expect(body.equals(Buffer.concat(long))).toBe(true);
  });

  test("unless it has ended before anything was sent", async () => {
    const { headers, body } = await answerOf(sending(partly()));
    expect([headers["content-length"], body.toString()]).toEqual(["13", "one,two,three"]);
  });

  test("no parts are an empty body", async () => {
    const { headers, body } = await answerOf(sending({ code: 200, contentType: "text/x", body: Buffer.alloc(0) }));
    expect([headers["content-length"], body.length]).toEqual(["0", 0]);
  });

  test.each([
    ["whole", { code: 200, contentType: "text/x", body: Buffer.concat(parts) }, "13"],
    ["in parts", partly(13), "13"],
    ["of unknown length", partly(), undefined],
  ])("HEAD has the length of a body %s that does not come", async (_, reply, length) => {
    const { headers, body } = await answerOf(sending(reply), { method: "HEAD" });
    expect([headers["content-length"], body.length]).toEqual([length, 0]);
  });

  test("what fails in the middle is for the caller, and the rest is not asked for", async () => {
    const failing = (async function* () {
      yield await Promise.resolve([Buffer.from("half")]);
      throw new Error("gone");
    })();
    const failures: unknown[] = [];
    const answer = answerOf((request, response) => {
      const reply = { code: 200, contentType: "text/x", body: { parts: failing } };
      send({ request, response, query: new URLSearchParams(), readers } as unknown as Exchange, reply).catch(
        (thrown: unknown) => {
          failures.push(thrown);
          response.destroy();
        },
      );
    });
    await expect(answer).rejects.toThrow();
    expect(failures).toEqual([new Error("gone")]);
  });

  test.each([
    ["whole", jsonReply({ a: [1] })],
    [
      "in parts",
      { code: 200, contentType: "application/json", body: streamed([Buffer.from('{"a"'), Buffer.from(":[1]}")]) },
    ],
  ])("JSON %s is laid out when people ask", async (_, reply) => {
    const { body } = await answerOf(sending(reply), { path: "/?pretty=true" });
    expect(body.toString()).toBe('{\n  "a": [\n    1\n  ]\n}');
  });

  test("other forms stay as they are", async () => {
    const { body } = await answerOf(sending(textReply('{"a":1}')), { path: "/?pretty=true" });
    expect(body.toString()).toBe('{"a":1}');
  });

  test("headers and warnings go along", async () => {
    const reply = { ...textReply("x"), headers: { ETag: '"1"' }, warnings: ["careful"] };
    const { headers } = await answerOf(sending(reply));
    expect(headers["etag"]).toBe('"1"');
    expect(headers["warning"]).toBe('299 - "careful"');
  });

  test("more than a socket holds arrives whole and in order", async () => {
    const many = Array.from({ length: 200 }, (_, at) => Buffer.alloc(64 * 1024, at));
    const { body } = await answerOf(sending({ code: 200, contentType: "x/y", body: streamed(many) }));
    expect(body.equals(Buffer.concat(many))).toBe(true);
  });

  test("a large reply is sent from one piece of memory, and the next one from the same", async () => {
    const memory: ArrayBufferLike[] = [];
    const readers = new SlowReaders(systemClock);
    const many = Array.from({ length: 20 }, (_, at) => Buffer.alloc(50_001, at));
    // Larger than the memory it is sent from, and not cut at a place that fits.
    const pieces = [...many, Buffer.alloc(300_003, "y")];
    const listener: RequestListener = (request, response) => {
      const write = response.write.bind(response);
      response.write = ((bytes: Buffer, done: () => void) => {
        memory.push(bytes.buffer);
        return write(bytes, done);
      }) as typeof response.write;
      const reply = { code: 200, contentType: "x/y", body: streamed(pieces) };
      void send({ request, response, query: new URLSearchParams(), readers } as unknown as Exchange, reply);
    };
    for (let time = 0; time < 2; time += 1)
      expect((await answerOf(listener)).body.equals(Buffer.concat(pieces))).toBe(true);
    expect(memory.length).toBeGreaterThan(20);
    expect(new Set(memory).size).toBe(1);
    expect(memory[0]?.byteLength).toBe(64 * 1024);
  });

  test("memory that a connection may still look at when it is cut is not used again", async () => {
    const readers = new SlowReaders(systemClock);
    const first = readers.buffers.take();
    readers.buffers.give(first);
    let sent: Promise<void> | undefined;
    const answer = answerOf((request, response) => {
      const write = response.write.bind(response);
      response.write = ((bytes: Buffer, done: () => void) => {
        const isRoom = write(bytes, done);
        response.destroy();
        return isRoom;
      }) as typeof response.write;
      const reply = { code: 200, contentType: "x/y", body: streamed([Buffer.alloc(200_000)]) };
      sent = send({ request, response, query: new URLSearchParams(), readers } as unknown as Exchange, reply);
    });
    await expect(answer).rejects.toThrow();
    await sent;
    expect(readers.buffers.take()).not.toBe(first);
  });

  const large = Buffer.alloc(128 * 1024, "x");
  test.each<[string | undefined, boolean]>([
    ["gzip", true],
    ["deflate, gzip;q=0.5, br", true],
    ["GZIP", true],
    ["gzip;q=1.0", true],
    ["gzip;q=0.001", true],
    ["gzip;q=0", false],
    ["gzip; q=0.000", false],
    ["x-gzip", false],
    ["br", false],
    ["", false],
    [undefined, false],
  ])("a large body for who takes %j is compressed: %j", async (encoding, isPacked) => {
    const headers: Record<string, string> = encoding === undefined ? {} : { "Accept-Encoding": encoding };
    const answer = await answerOf(sending({ code: 200, contentType: "x/y", body: large }), { headers });
    expect(answer.headers["content-encoding"]).toBe(isPacked ? "gzip" : undefined);
    expect((isPacked ? gunzipSync(answer.body) : answer.body).equals(large)).toBe(true);
    if (isPacked) expect(answer.headers["vary"]).toBe("Accept-Encoding");
  });

  test("one byte less is sent as it is", async () => {
    const reply = { code: 200, contentType: "x/y", body: large.subarray(1) };
    expect(
      (await answerOf(sending(reply), { headers: { "Accept-Encoding": "gzip" } })).headers["content-encoding"],
    ).toBeUndefined();
  });

  test("a client that leaves in the middle of a large body ends the sending", async () => {
    const ended: Promise<void>[] = [];
    const server = createServer((request, response) => {
      const body = streamed(Array.from({ length: 400 }, () => Buffer.alloc(64 * 1024)));
      ended.push(send({ request, response, readers } as unknown as Exchange, { code: 200, contentType: "x/y", body }));
    });
    server.listen({ host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const request = get({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, agent: false });
    request.on("error", () => undefined);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.destroy();
    await Promise.all(ended);
    server.closeAllConnections();
    server.close();
  });
});

describe("warnings", () => {
  const warned = (...texts: string[]): unknown => {
    const response = blank();
    setWarnings(response, texts);
    return response.getHeader("Warning");
  };

  test.each<[readonly string[], unknown]>([
    [[], undefined],
    [["a"], ['299 - "a"']],
    [
      ["a", "b", "a"],
      ['299 - "a"', '299 - "b"'],
    ],
    [['say "hi" \\ now'], ['299 - "say \\"hi\\" \\\\ now"']],
    [["line\r\nSet-Cookie: x"], ['299 - "line??Set-Cookie: x"']],
    [["ä☃"], ['299 - "??"']],
  ])("%j become %j", (texts, header) => {
    expect(warned(...texts)).toEqual(header);
  });

  test("are cut off at 4 KiB together, between two of them", () => {
    const values = warned(...Array.from({ length: 10 }, (_, at) => `${at}${"x".repeat(999)}`)) as string[];
    expect(values).toHaveLength(4);
    expect(values.at(-1)).toMatch(/^299 - "3x/);
    expect(warned("y".repeat(5000))).toBeUndefined();
  });
});

describe("a Status", () => {
  test("is laid out for people", async () => {
    const status = new ApiError("NotFound", "no").toStatus();
    const answer = await answerOf((_request, response) => sendStatus(response, status, { isForPeople: true }));
    expect(answer.body.toString()).toBe(JSON.stringify(status, undefined, 2));
    expect(answer.headers["content-length"]).toBe(String(answer.body.length));
  });

  const refused =
    (thrown: unknown): RequestListener =>
    (_request, response) =>
      sendStatus(response, refusalOf(thrown).toStatus(), { headers: { "X-More": "1" } });

  test.each<[ApiError, number, Record<string, string | undefined>]>([
    [new ApiError("NotFound", "no"), 404, { "retry-after": undefined, "www-authenticate": undefined, "x-more": "1" }],
    [new ApiError("TooManyRequests", "no", { details: { retryAfterSeconds: 7 } }), 429, { "retry-after": "7" }],
    [new ApiError("Unauthorized", "no"), 401, { "www-authenticate": "Bearer" }],
    [new ApiError("BadRequest", "no", { code: 414 }), 414, {}],
  ])("%s is sent with what follows from it", async (refusal, code, headers) => {
    const answer = await answerOf(refused(refusal));
    expect(answer.status).toBe(code);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      ...Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
    });
    for (const [name, value] of Object.entries(headers)) expect(answer.headers[name]).toBe(value);
    expect(JSON.parse(answer.body.toString())).toEqual(refusal.toStatus());
    expect(answer.body.toString()).toMatch(/\n$/);
  });

  test("of what is no refusal says what was thrown, and keeps the stack for the log", async () => {
    const answer = await answerOf(refused(new TypeError("x is undefined")));
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      code: 500,
      reason: "InternalError",
      message: "Internal error occurred: x is undefined",
    });
    expect(answer.body.toString()).not.toContain("respond.test");
    expect(refusalOf("text").message).toBe("Internal error occurred: text");
  });

  test.each([
    ["store-full", 503, "ServiceUnavailable", 5],
    ["store-closed", 503, "ServiceUnavailable", 1],
    ["store-busy", 429, "TooManyRequests", 1],
    ["store-failed", 500, "InternalError", undefined],
    ["store-commit-failed", 500, "InternalError", undefined],
  ])("of a store that says %s is %d: clients know whether to wait", (code, status, reason, seconds) => {
    const refusal = refusalOf(new SlipwayError(code, "the disk is full"));
    expect(refusal).toMatchObject({ code: status, reason, message: expect.stringContaining("the disk is full") });
    expect(refusal.details.retryAfterSeconds).toBe(seconds);
  });

  test("after the answer has begun cuts the connection, so that nobody takes a half for the whole", async () => {
    const half: RequestListener = (_request, response) => {
      response.writeHead(200, { "Content-Length": "10" });
      response.write("12345", () => sendStatus(response, new ApiError("InternalError", "broken").toStatus()));
    };
    await expect(answerOf(half)).rejects.toThrow(/aborted|reset/i);
  });
});

test("small replies end with a newline where people read them", () => {
  expect(String(jsonReply({ a: 1 }).body)).toBe('{"a":1}\n');
  expect(jsonReply({}, 202)).toMatchObject({ code: 202, contentType: "application/json" });
  expect(textReply("ok")).toMatchObject({
    code: 200,
    contentType: "text/plain; charset=utf-8",
    body: Buffer.from("ok"),
  });
});
