import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { type HttpDoor, openHttpDoor } from "../http/index.ts";
import { TestEngine, TestPlane } from "../testing/plane.ts";

// Bodies as they come over real connections: a request that is made in memory has a length, and is of another class.

let engine: TestEngine;
let plane: TestPlane;
let door: HttpDoor;
beforeEach(async () => {
  engine = await TestEngine.open();
  plane = await new TestPlane([engine.engine]).synced();
  const serves = () => Promise.resolve({ fetch: plane.api.fetch });
  door = await openHttpDoor({ address: "127.0.0.1:0", serves, clock: systemClock, log: silentLog, drain: 50 });
});
afterEach(async () => {
  await door.close();
  await plane.close();
  await engine.close();
});

const web = { name: "web", gitUrl: "https://git.example/web.git" };

/** In chunks, without a length. */
async function postInChunks(path: string, chunks: readonly string[]): Promise<{ status: number; text: string }> {
  const asked = request(`http://${door.address}${path}`, { method: "POST" });
  const answered = once(asked, "response") as Promise<[IncomingMessage]>;
  for (const chunk of chunks) asked.write(chunk);
  asked.end();
  const [answer] = await answered;
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode ?? 0, text };
}

test("a request without a body starts a build", async () => {
  await plane.ask("POST", "/api/project", web);
  // As curl asks: with neither a body nor a length, where fetch would say that it is 0.
  const socket = connectTcp(door.port, "127.0.0.1");
  socket.write("POST /api/project/1/build?branch=main HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  expect(text).toContain('{"buildRef":"1"}');
});

test("a body in chunks is read, and refused when it is too long", async () => {
  const text = JSON.stringify(web);
  expect(await postInChunks("/api/project", [text.slice(0, 9), text.slice(9)])).toMatchObject({ status: 201 });
  const mebibyte = " ".repeat(1024 * 1024);
  const long = await postInChunks("/api/project", [mebibyte, mebibyte, mebibyte, mebibyte, text]);
  expect(long.status).toBe(413);
  expect(JSON.parse(long.text)).toMatchObject({ type: "/prob/api/too-large" });
});

test("a body over HTTP/2 is read", async () => {
  const session = connect(`http://${door.address}`);
  const stream = session.request({ ":method": "POST", ":path": "/api/project" });
  stream.end(JSON.stringify(web));
  const [answered] = (await once(stream, "response")) as [Record<string, unknown>];
  stream.resume();
  await once(stream, "close");
  session.close();
  expect(answered[":status"]).toBe(201);
});
