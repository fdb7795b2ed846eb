import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createResults, type ResultsStore } from "../../../src/dialects/wharf/results/results-store.ts";
import { newBuild } from "../../../src/dialects/wharf/results/testing/new-build.ts";
import { serveResults } from "../../../src/dialects/wharf/worker-api/serve-results.ts";
import { silentLog, systemClock } from "../../../src/lib/base/index.ts";
import { PythonClient } from "../tinkerbell/python-client.ts";

// The worker as clients of another language and another library see it, whose messages a stock compiler has made of the interfaces that released
// workers and RFC-0025 have.

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(): Promise<{ readonly results: ResultsStore; readonly port: number }> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-worker-"));
  closers.push(() => rm(directory, { recursive: true }));
  const results = await createResults(join(directory, "7"), newBuild(2), { clock: systemClock });
  const door = await serveResults(results, { address: "127.0.0.1:0", clock: systemClock, log: silentLog });
  closers.push(
    () => door.close(),
    () => results.close(),
  );
  return { results, port: door.port };
}

async function clientOf(port: number, interfaces: "released-worker" | "rfc-worker"): Promise<PythonClient> {
  const folder = join(import.meta.dirname, "testdata", interfaces);
  const client = await PythonClient.start(port, { folder, files: ["worker.proto"] });
  closers.push(() => client.close());
  return client;
}

const name = "wharf.worker.v1";
const open = (client: PythonClient, method: string, response: string) =>
  client.open(
    `/${name}.Worker/${method}`,
    `${name}.${response.replace("Response", "Request")}`,
    `${name}.${response}`,
    {},
  );

async function print(results: ResultsStore, stepId: number, text: string): Promise<void> {
  (await results.openLog(stepId)).append("stdout", Buffer.from(text));
}

/** A step that has a sandbox, prints, leaves something and fails. */
async function runBuild(results: ResultsStore): Promise<void> {
  for (const status of ["Scheduling", "Initializing", "Running"] as const) await results.setStatus(1, status);
  await print(results, 1, "one\nzwölf\n\ufffd");
  const source = {
    name: "out/å.bin",
    async *open() {
      yield Buffer.from("artifact");
    },
  };
  await results.addArtifacts(1, [source]);
  await results.setStatus(1, "Failed", 3);
  await results.finish({ status: "Failed" });
  await results.freeze();
}

describe("a client of released workers", () => {
  test("reads logs, statuses and artifacts while they come, and downloads one", async () => {
    const { results, port } = await serve();
    const client = await clientOf(port, "released-worker");
    const logs = open(client, "StreamLogs", "StreamLogsResponse");
    const statuses = open(client, "StreamStatusEvents", "StreamStatusEventsResponse");
    const artifacts = open(client, "StreamArtifactEvents", "StreamArtifactEventsResponse");
    await expect.poll(() => statuses.messages.length).toBe(2);
    await runBuild(results);
    const [lines, events, left] = await Promise.all([logs, statuses, artifacts].map(({ end }) => end.promise));
    expect(lines).toMatchObject({
      code: "OK",
      messages: [
        { log_id: "1", step_id: "1", message: "one", timestamp: expect.stringMatching(/^20\d\d-.*Z$/) as string },
        { log_id: "2", message: "zwölf" },
        { log_id: "3", message: "\ufffd" },
      ],
    });
    expect(events).toMatchObject({ code: "OK" });
    const ofStep = events?.messages.filter(({ step_id: stepId }) => stepId === "1");
    expect(ofStep?.map(({ event_id: id, status }) => `${String(id)} ${String(status)}`)).toEqual([
      "1 STATUS_PENDING",
      "2 STATUS_SCHEDULING",
      "3 STATUS_INITIALIZING",
      "4 STATUS_RUNNING",
      "5 STATUS_FAILED",
    ]);
    expect(left).toMatchObject({ code: "OK", messages: [{ artifact_id: "1", step_id: "1", name: "out/å.bin" }] });
    const download = await fetch(`http://127.0.0.1:${port}/api/artifact/1/download`);
    expect(await download.text()).toBe("artifact");
  });

  test("that comes after the end of a build that failed is given everything", async () => {
    const { results, port } = await serve();
    await runBuild(results);
    const client = await clientOf(port, "released-worker");
    const { code, messages } = await open(client, "StreamLogs", "StreamLogsResponse").end.promise;
    expect([code, messages.map(({ message }) => message)]).toEqual(["OK", ["one", "zwölf", "\ufffd"]]);
  });

  test("is answered beside REST on the same port, and not disturbed by what is neither", async () => {
    const { results, port } = await serve();
    const client = await clientOf(port, "released-worker");
    const logs = open(client, "StreamLogs", "StreamLogsResponse");
    await print(results, 1, Array.from({ length: 5000 }, (_, at) => `line ${at + 1}\n`).join(""));
    const [garbage, ...pings] = await Promise.all([
      new Promise((resolve) => {
        const asked = request({ port, method: "PRI", path: "*" });
        asked.on("error", resolve).on("response", ({ statusCode }) => resolve(statusCode));
        asked.end();
      }),
      ...Array.from({ length: 20 }, async () => (await fetch(`http://127.0.0.1:${port}/`)).json()),
    ]);
    expect(garbage).toBeDefined();
    expect(pings).toEqual(Array.from({ length: 20 }, () => ({ message: "pong" })));
    await results.setStatus(1, "Success", 0);
    await results.freeze();
    const { code, messages } = await logs.end.promise;
    expect([code, messages.length, messages.at(-1)?.["message"]]).toEqual(["OK", 5000, "line 5000"]);
  });
});

test("a client of RFC-0025 reads the same under its names, with its statuses", async () => {
  const { results, port } = await serve();
  await runBuild(results);
  const client = await clientOf(port, "rfc-worker");
  const [lines, events, left] = await Promise.all(
    [
      open(client, "Logs", "LogsResponse"),
      open(client, "StatusEvents", "StatusEventsResponse"),
      open(client, "ArtifactEvent", "ArtifactEventResponse"),
    ].map(({ end }) => end.promise),
  );
  expect(lines).toMatchObject({ code: "OK", messages: [{ log_id: "1", step_id: 1, line: "one" }, {}, {}] });
  // The first of them is 0, which is not on the wire.
  const ofStep = events?.messages.filter(({ step_id: stepId }) => stepId === 1);
  expect(ofStep).toEqual([
    { event_id: 1, step_id: 1 },
    { event_id: 3, step_id: 1, status: "RUNNING" },
    { event_id: 5, step_id: 1, status: "FAILED" },
  ]);
  expect(left).toMatchObject({ code: "OK", messages: [{ artifact_id: 1, step_id: 1, name: "out/å.bin" }] });
});
