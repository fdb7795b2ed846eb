import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HttpConnection, requestHead } from "./http-connection.ts";

let server: Server;
let connection: HttpConnection;
beforeEach(async () => {
  server = createServer((request, response) => {
    if (request.url === "/length") return void response.writeHead(200, { "Content-Length": 5 }).end("hello");
    if (request.url === "/empty") return void response.writeHead(404, { "Content-Length": 0 }).end();
    if (request.url === "/broken") return void response.destroy();
    // Without a length Node answers in chunks.
    response.write("first\nsec");
    setImmediate(() => response.end("ond\n"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  connection = await HttpConnection.open({ port: (server.address() as AddressInfo).port });
});
afterEach(() => {
  connection.close();
  server.close();
});

test("bodies with a length and bodies in chunks are read whole, one after the other", async () => {
  const length = await connection.send(requestHead("GET", "/length", {}));
  const empty = await connection.send(requestHead("GET", "/empty", {}));
  const chunks = await connection.send(requestHead("GET", "/chunks", {}));
  expect([length.status, length.body.toString()]).toEqual([200, "hello"]);
  expect([empty.status, empty.body.toString()]).toEqual([404, ""]);
  expect([chunks.status, chunks.body.toString()]).toEqual([200, "first\nsecond\n"]);
});

test("the lines of an answer come one by one, whatever the chunks are", async () => {
  const lines: string[] = [];
  for await (const line of connection.lines(requestHead("GET", "/chunks", {}))) lines.push(line.toString());
  expect(lines).toEqual(["first", "second"]);
});

test("a connection that the server ends is an error", async () => {
  await expect(connection.send(requestHead("GET", "/broken", {}))).rejects.toThrow();
});
