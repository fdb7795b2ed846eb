import { createServer, type RequestListener } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import { modifiedAt, putFiles } from "./container-files.ts";
import { OutputReader } from "./container-output.ts";
import { EngineClient } from "./engine/engine-client.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A client of an engine that answers as told. */
async function engineThat(answers: RequestListener, clock = new FakeClock()): Promise<EngineClient> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-fake-engine-"));
  const path = join(directory, "d.sock");
  const server = createServer((request, response) => {
    if (request.url === "/_ping") response.setHeader("api-version", "1.41").end("OK");
    else answers(request, response);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = new EngineClient({ kind: "socket", path }, clock);
  closing.push(async () => {
    client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true });
  });
  return client;
}

const frame = (kind: number, text: string): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = kind;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
};
const at = (nanoseconds: string): string => `2026-11-21T11:39:20.${nanoseconds}Z`;

test("the time is cut off every piece, also of those that go on in a line", async () => {
  const engine = await engineThat((_request, response) => {
    response.write(frame(1, `${at("000000001")} long `));
    response.write(frame(2, `${at("000000002")} bad\n`));
    response.end(Buffer.concat([frame(1, `${at("000000003")} line\n`), frame(1, "no time here\n")]));
  });
  const pieces: unknown[] = [];
  const take = (stream: string, text: Buffer, time: string | undefined) =>
    pieces.push([stream, text.toString(), time]) > 0;
  await new OutputReader(engine, "c", { take, drained: () => Promise.resolve() }).follow();
  expect(pieces).toEqual([
    ["stdout", "long ", at("000000001")],
    ["stderr", "bad\n", at("000000002")],
    ["stdout", "line\n", at("000000003")],
    ["stdout", "no time here\n", undefined],
  ]);
});

test("a reading that was cut off goes on behind the last piece, though the engine tells pieces of its time again", async () => {
  const asked: (string | null)[] = [];
  const engine = await engineThat((request, response) => {
    asked.push(new URL(request.url ?? "", "http://docker").searchParams.get("since"));
    if (asked.length === 1) {
      response.write(Buffer.concat([frame(1, `${at("5")} one\n`), frame(2, `${at("5")} two\n`)]));
      response.write(frame(1, "cut within a frame").subarray(0, 12), () => response.destroy());
    } else {
      response.end(
        Buffer.concat(
          ["one", "two", "three", "four"].map((text) =>
            frame(text === "two" ? 2 : 1, `${at(text === "four" ? "6" : "5")} ${text}\n`),
          ),
        ),
      );
    }
  });
  const texts: string[] = [];
  const reader = new OutputReader(engine, "c", {
    take: (_stream, text) => texts.push(text.toString()) > 0,
    drained: () => Promise.resolve(),
  });
  await expect(reader.follow()).rejects.toThrow();
  expect(texts).toEqual(["one\n", "two\n"]);
  await reader.rest();
  expect(texts).toEqual(["one\n", "two\n", "three\n", "four\n"]);
  expect(asked).toEqual([null, `${Date.UTC(2026, 10, 21, 11, 39, 20) / 1000}.500000000`]);
});

test("pieces of two streams that were written in another order than they were printed in are told once", async () => {
  const asked: (string | null)[] = [];
  const all = [
    [1, "out 1", "100000001"],
    [2, "err 1", "100000004"],
    [1, "out 2", "100000002"],
    [1, "out 3", "100000003"],
    [2, "err 2", "100000005"],
    [1, "out 4", "100000003"],
  ] as const;
  let told = 4;
  const engine = await engineThat((request, response) => {
    asked.push(new URL(request.url ?? "", "http://docker").searchParams.get("since"));
    response.end(Buffer.concat(all.slice(0, told).map(([kind, text, time]) => frame(kind, `${at(time)} ${text}\n`))));
  });
  const texts: string[] = [];
  const reader = new OutputReader(engine, "c", {
    take: (_stream, text) => texts.push(text.toString().trim()) > 0,
    drained: () => Promise.resolve(),
  });
  await reader.follow();
  told = all.length;
  await reader.rest();
  await reader.rest();
  expect(texts).toEqual(all.map(([, text]) => text));
  const second = Date.UTC(2026, 10, 21, 11, 39, 20) / 1000;
  expect(asked).toEqual([null, `${second}.100000003`, `${second}.100000003`]);
});

test("a stream that says nothing has no more than two seconds of the other one told again", async () => {
  const asked: (string | null)[] = [];
  const engine = await engineThat((request, response) => {
    asked.push(new URL(request.url ?? "", "http://docker").searchParams.get("since"));
    response.end(
      Buffer.concat([frame(1, `${at("5")} out\n`), ...(asked.length > 1 ? [frame(2, `${at("4")} err\n`)] : [])]),
    );
  });
  const texts: string[] = [];
  const take = (_stream: string, text: Buffer) => texts.push(text.toString().trim()) > 0;
  const reader = new OutputReader(engine, "c", { take, drained: () => Promise.resolve() });
  await reader.follow();
  await reader.rest();
  expect(texts).toEqual(["out", "err"]);
  expect(asked).toEqual([null, `${Date.UTC(2026, 10, 21, 11, 39, 18) / 1000}.500000000`]);
});

test("the engine is not read from while the sink is full", async () => {
  const engine = await engineThat((_request, response) => {
    for (let piece = 0; piece < 1_000; piece++) response.write(frame(1, `${at("1")} ${"x".repeat(16_000)}\n`));
    response.end();
  });
  const behind = deferred<void>();
  let taken = 0;
  const reading = new OutputReader(engine, "c", { take: () => ++taken < 0, drained: () => behind.promise }).follow();
  await expect.poll(() => taken).toBeGreaterThan(0);
  expect(taken).toBeLessThan(50);
  behind.resolve();
  await reading;
  expect(taken).toBe(1_000);
});

test("files are sent as they are made, and when one was changed is known without reading it", async () => {
  const received: Buffer[] = [];
  const engine = await engineThat((request, response) => {
    if (request.method === "PUT") {
      request.on("data", (chunk: Buffer) => received.push(chunk)).on("end", () => response.end());
      return;
    }
    const stat = { name: "f", mtime: "2026-11-21T11:39:20.123456789Z" };
    const isThere = request.url?.endsWith("there") === true;
    response.setHeader("x-docker-container-path-stat", Buffer.from(JSON.stringify(stat)).toString("base64"));
    response.writeHead(isThere ? 200 : 404).end();
  });
  async function* tar() {
    yield Buffer.from("one ");
    yield await Promise.resolve(Buffer.from("two"));
  }
  await putFiles(engine, "c", "/", tar());
  expect(Buffer.concat(received).toString()).toBe("one two");
  expect(await modifiedAt(engine, "c", "/there")).toBe(Date.UTC(2026, 10, 21, 11, 39, 20, 123));
  expect(await modifiedAt(engine, "c", "/gone")).toBeUndefined();
});

test("when a file was changed is a question, which an engine has a minute for", async () => {
  const clock = new FakeClock();
  let isAsked = false;
  const engine = await engineThat(() => (isAsked = true), clock);
  let isTold = false;
  const told = expect(modifiedAt(engine, "c", "/there").finally(() => (isTold = true))).rejects.toThrow(
    "hangs: no answer to HEAD /containers/c/archive for 60 s",
  );
  await expect.poll(() => isAsked).toBe(true);
  await clock.advance(59_999);
  expect(isTold).toBe(false);
  await clock.advance(1);
  await told;
});

test("what the maker of files throws is told as it is", async () => {
  const engine = await engineThat((request) => void request.resume());
  async function* broken() {
    yield await Promise.resolve(Buffer.from("some"));
    throw new Error("no room");
  }
  await expect(putFiles(engine, "c", "/", broken())).rejects.toThrow(/^no room$/);
});

test("an engine that refuses before it has read all is told with its words", async () => {
  const engine = await engineThat((_request, response) =>
    response.writeHead(400).end('{"message":"no such directory"}'),
  );
  async function* large() {
    for (let chunk = 0; chunk < 1_000; chunk++) yield await Promise.resolve(Buffer.alloc(64 * 1024));
  }
  await expect(putFiles(engine, "c", "/", large())).rejects.toMatchObject({ message: "no such directory" });
});
