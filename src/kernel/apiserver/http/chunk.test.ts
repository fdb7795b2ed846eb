import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { waitUntil } from "../testing/index.ts";
import { chunkOf, writeChunk } from "./chunk.ts";

const chunk = chunkOf([Buffer.from("one,"), Buffer.from("two")]);

let server: Server;
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.close();
});

async function serve(answer: (response: ServerResponse, request: IncomingMessage) => void): Promise<void> {
  server = createServer((request, response) => answer(response, request));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
}

/** Sends the text as it is; what comes back is in `received`. */
async function send(text: string) {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  clients.push(socket);
  const seen = { received: "", isEnded: false };
  socket.on("data", (bytes: Buffer) => (seen.received += bytes.toString("latin1")));
  socket.on("end", () => (seen.isEnded = true));
  await once(socket, "connect");
  socket.write(text);
  return seen;
}

const get = (path: string, version = "1.1", method = "GET") =>
  `${method} ${path} HTTP/${version}\r\nHost: localhost\r\n\r\n`;
const bodyOf = (received: string) => received.slice(received.indexOf("\r\n\r\n") + 4);

describe("a chunk", () => {
  test("stands between what was written before and after it", async () => {
    await serve((response) => {
      response.flushHeaders();
      response.write("a");
      writeChunk(response, chunk);
      response.write("b");
      writeChunk(response, chunk);
      response.end();
    });
    const seen = await send(get("/"));
    await waitUntil(() => seen.received.endsWith("0\r\n\r\n"));
    expect(bodyOf(seen.received)).toBe("1\r\na\r\n7\r\none,two\r\n1\r\nb\r\n7\r\none,two\r\n0\r\n\r\n");
  });

  test("is the same piece of memory for every connection", async () => {
    const written: unknown[] = [];
    await serve((response) => {
      response.flushHeaders();
      const { socket } = response;
      if (socket === null) throw new Error("the answer has its connection");
      const write = socket.write.bind(socket);
      socket.write = (bytes: Uint8Array | string) => {
        written.push(bytes);
        return write(bytes);
      };
      writeChunk(response, chunk);
    });
    const readers = [await send(get("/")), await send(get("/"))];
    await waitUntil(() => readers.every(({ received }) => received.endsWith("two\r\n")));
    expect(written).toHaveLength(2);
    expect(written.every((bytes) => bytes === chunk.framed)).toBe(true);
  });

  test("counts as written while it waits for its reader", async () => {
    let waiting = 0;
    await serve((response) => {
      response.flushHeaders();
      response.socket?.cork();
      writeChunk(response, chunk);
      waiting = response.writableLength;
      response.socket?.uncork();
    });
    const seen = await send(get("/"));
    await waitUntil(() => seen.received.endsWith("two\r\n"));
    expect(waiting).toBeGreaterThanOrEqual(chunk.framed.length);
  });

  test("has no frame in HTTP/1.0, where the connection is the end", async () => {
    await serve((response) => {
      response.flushHeaders();
      writeChunk(response, chunk);
      response.end();
    });
    const seen = await send(get("/", "1.0"));
    await waitUntil(() => seen.isEnded);
    expect(bodyOf(seen.received)).toBe("one,two");
  });

  test("is not sent in an answer to HEAD", async () => {
    await serve((response) => {
      response.flushHeaders();
      writeChunk(response, chunk);
      response.end();
    });
    const seen = await send(get("/", "1.1", "HEAD") + get("/"));
    await waitUntil(() => seen.received.endsWith("0\r\n\r\n"));
    expect(seen.received.match(/one,two/g)).toHaveLength(1);
    expect(bodyOf(seen.received)).toMatch(/^HTTP\/1.1 200/);
  });

  test("of a pipelined answer waits for the answers before it", async () => {
    let first: ServerResponse | undefined;
    await serve((response, { url }) => {
      response.flushHeaders();
      if (url === "/first") first = response;
      else {
        writeChunk(response, chunk);
        response.end();
        first?.end("first");
      }
    });
    const seen = await send(get("/first") + get("/second"));
    await waitUntil(() => seen.received.endsWith("7\r\none,two\r\n0\r\n\r\n"));
    expect(seen.received.indexOf("first")).toBeLessThan(seen.received.indexOf("one,two"));
  });

  test("cannot be empty, because that is the end of an answer", () => {
    expect(() => chunkOf([Buffer.alloc(0)])).toThrow("end the answer");
  });
});
