import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Place } from "#dialects/tinkerbell/server/testing/place.ts";
import { logPath } from "#dialects/tinkerbell/logs/places.ts";
import { readLogs } from "#kernel/streams/index.ts";
import { type Answer, PythonClient } from "./python-client.ts";

// Output pushed by a client that shares no code with the server, made of the published interface by a stock compiler.

let directory: string;
let place: Place;
let client: PythonClient;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-pushed-"));
  place = await Place.start({ logs: { directory } });
  client = await PythonClient.start(place.port);
});
afterAll(async () => {
  await client?.close();
  await place?.close();
  await rm(directory, { recursive: true, force: true });
});

const push = (...chunks: readonly object[]): Promise<Answer> =>
  client.call(
    "/slipway.agent.v1.AgentService/PushLogs",
    "slipway.agent.v1.LogChunk",
    "slipway.agent.v1.PushLogsResponse",
    chunks,
  );

const chunk = (workflow: string, seq: number, text: string, stream = "STREAM_STDOUT") => ({
  workflow_id: workflow,
  action_id: "id-one",
  stream,
  time: "2026-01-01T00:00:00.250Z",
  data: Buffer.from(text).toString("base64"),
  seq: String(seq),
});

async function read(workflow: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  const path = logPath(directory, workflow.split("/")[2] ?? "", "id-one");
  for await (const piece of readLogs(path, { timestamps: true })) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("a stock client pushes lines, resumes after what was acknowledged, and asks how much that is", async () => {
  const w = await place.create("pushed");
  const at = "2026-01-01T00:00:00.250000000Z";
  const received = (seq: string) => [{ received: [{ workflow_id: w, action_id: "id-one", seq }] }];
  expect(await push(chunk(w, 1, "one\n"), chunk(w, 2, "tw"), chunk(w, 3, "o\n"))).toMatchObject({
    code: "OK",
    messages: received("3"),
  });
  expect(await push({ workflow_id: w, action_id: "id-one" })).toMatchObject({ code: "OK", messages: received("3") });
  const again = [chunk(w, 3, "o\n"), chunk(w, 4, "bad\n", "STREAM_STDERR"), chunk(w, 6, "too early\n")];
  expect(await push(...again)).toMatchObject({ code: "OK", messages: received("4") });
  expect(await read(w)).toBe(`${at} one\n${at} two\n${at} bad\n`);
});

test("a stock client is refused by name", async () => {
  const w = await place.create("refused");
  expect(await push({ ...chunk(w, 1, "x"), workflow_id: "" })).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: "workflow_id is empty",
  });
  expect(await push(chunk("default/none/uid", 1, "x"))).toMatchObject({ code: "NOT_FOUND" });
  expect(await push({ ...chunk(w, 1, "x"), action_id: "none" })).toMatchObject({ code: "NOT_FOUND" });
});

test("many lines of a stock client, in frames, are all there", async () => {
  const w = await place.create("many");
  const frame = Array.from({ length: 600 }, (_, line) => `line ${line} ${"x".repeat(90)}\n`).join("");
  const frames = Array.from({ length: 50 }, (_, at) => chunk(w, at + 1, frame));
  expect(await push(...frames)).toMatchObject({ code: "OK" });
  expect((await read(w)).split("\n")).toHaveLength(50 * 600 + 1);
});
