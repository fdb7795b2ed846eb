import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { type HttpDoor, openHttpDoor } from "../http/index.ts";
import { eventsOf } from "../results-api/testing/served-results.ts";
import { Build } from "../kinds.ts";
import { TestEngine, TestPlane } from "../testing/plane.ts";

let engine: TestEngine;
let plane: TestPlane;
let door: HttpDoor;
let url = "";
beforeEach(async () => {
  engine = await TestEngine.open();
  plane = await new TestPlane([engine.engine]).synced();
  const serves = async () => ({ fetch: plane.api.fetch });
  door = await openHttpDoor({ address: "127.0.0.1:0", clock: systemClock, log: silentLog, drain: 50, serves });
  url = `http://${door.address}/api`;
});
afterEach(async () => {
  await door.close();
  await plane.close();
  await engine.close();
});

const send = (method: string, path: string, body: string | FormData): Promise<Response> =>
  fetch(`${url}${path}`, { method, body });
const json = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json();
const line = (id: number): string =>
  `${JSON.stringify({ workerStepId: 1, workerLogId: id, timestamp: "2026-01-31T12:00:00Z", message: `line ${id}` })}\n`;

test("a build's lines, artifacts and tests come while it runs, are told at its end, and go with it", async () => {
  await send("POST", "/project", JSON.stringify({ name: "web", gitUrl: "https://git.example/web.git" }));
  await send("POST", "/project/1/branch", JSON.stringify({ name: "main", default: true }));
  await send("POST", "/project/1/build", "{}");
  await expect.poll(() => json("/build/1")).toMatchObject({ buildId: 1, status: "Scheduling" });
  expect((await send("PUT", "/build/2/logs", line(1))).status).toBe(404);

  const stream = await fetch(`${url}/build/1/stream?after=0`);
  expect(await (await send("PUT", "/build/1/logs", line(1) + line(2))).json()).toMatchObject({ inserted: 2 });
  const tests = new FormData();
  tests.append("files", new File(['<testsuite><testcase name="a"/></testsuite>'], "junit.xml"));
  expect((await send("POST", "/build/1/test-result", tests)).status).toBe(200);
  expect((await send("POST", "/build/1/log", JSON.stringify({ status: "Running" }))).status).toBe(201);
  expect((await send("POST", "/build/1/log", JSON.stringify({ status: "Walking" }))).status).toBe(400);
  await send("PUT", "/build/1/logs", line(3));
  await send("PUT", "/build/1/status", JSON.stringify({ status: "Completed" }));

  const seen: unknown[] = [];
  for await (const { event, data } of eventsOf(stream)) seen.push(event === "end" ? event : data["message"]);
  expect(seen).toEqual(["line 1", "line 2", "line 3", "end"]);
  await expect
    .poll(() => json("/build/1"))
    .toMatchObject({
      status: "Completed",
      testResultSummaries: [{ fileName: "junit.xml", artifactId: 1, total: 1, passed: 1 }],
      testResultListSummary: { total: 1, failed: 0, passed: 1, skipped: 0 },
    });
  const stored = await plane.store.get({ type: Build, namespace: "default", name: "build-1" });
  expect(stored.status).toMatchObject({
    logs: { lines: 3, bytes: 18 },
    testResults: { total: 1, failed: 0, passed: 1, skipped: 0 },
  });

  const kept = (): Promise<readonly string[][]> =>
    Promise.all(
      ["logs", "artifacts/builds", "artifacts/content"].map(async (name) =>
        (await readdir(join(plane.directory, name))).filter((entry) => !entry.startsWith(".")),
      ),
    );
  expect((await kept()).map(({ length }) => length)).toEqual([1, 1, 1]);
  await plane.store.delete({ type: Build, namespace: "default", name: "build-1" });
  await expect.poll(kept).toEqual([[], [], []]);
  await expect.poll(async () => (await fetch(`${url}/build/1/log`)).status).toBe(404);
});

test("nothing is taken for a build that is being deleted", async () => {
  await send("POST", "/project", JSON.stringify({ name: "web", gitUrl: "https://git.example/web.git" }));
  await send("POST", "/project/1/branch", JSON.stringify({ name: "main", default: true }));
  await send("POST", "/project/1/build", "{}");
  await expect.poll(async () => (await send("PUT", "/build/1/logs", line(1))).status).toBe(200);
  // The engine does not end its worker, so that the build stays for a while.
  engine.refusal = { status: 503, body: "" };
  await plane.store.delete({ type: Build, namespace: "default", name: "build-1" });
  await expect.poll(async () => (await send("PUT", "/build/1/logs", line(2))).status).toBe(404);
  const file = new FormData();
  file.append("files", new File(["bytes"], "a.txt"));
  expect((await send("POST", "/build/1/artifact", file)).status).toBe(404);
  expect((await fetch(`${url}/build/1/log`)).status).toBe(200);
});
