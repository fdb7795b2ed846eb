import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { watchedServices } from "./watched-services.ts";

const { signal } = new AbortController();
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A service that answers each path with a document, and notes what it is asked. */
async function service(answers: Readonly<Record<string, unknown>>, asked: string[] = []): Promise<string> {
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      asked.push(body === "" ? line : `${line} ${body}`);
      const answer = answers[line];
      response.statusCode = answer === undefined ? 404 : 200;
      response.end(answer === undefined ? "{}" : JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const list = "GET /api/build?limit=0&status=Scheduling&status=Running";
const time = "2026-01-01T00:00:00Z";

test("builds are those of this provisioner's engine, with the time of storing where none was asked for", async () => {
  const provisioner = await service({});
  const engine = (id: string, url: string) => ({ id, url, api: "wharf-cmd.v1" });
  const found = [
    {
      buildId: 1,
      workerId: "w",
      status: "Running",
      scheduledOn: time,
      engine: engine("wharf-cmd", "http://elsewhere:5009/api/worker"),
    },
    {
      buildId: 2,
      workerId: null,
      status: "Scheduling",
      reason: "TriggerUnknown",
      scheduledOn: null,
      createdAt: time,
      engine: engine("x", `${provisioner}/api/worker`),
    },
    { buildId: 3, workerId: "", scheduledOn: time, engine: engine("jenkins", "http://jenkins/invoke") },
    { buildId: 4, workerId: "", scheduledOn: time, engine: null },
  ];
  const api = await service({ [list]: { list: found, totalCount: 4 } });
  const watched = watchedServices({ api: { url: api }, provisioner: { url: provisioner } });
  const scheduledOn = Date.parse(time);
  expect(await watched.activeBuilds(signal)).toEqual([
    { buildId: 1, workerId: "w", isRunning: true, mayHaveWorker: false, scheduledOn },
    { buildId: 2, workerId: "", isRunning: false, mayHaveWorker: true, scheduledOn },
    { buildId: 4, workerId: "", isRunning: false, mayHaveWorker: false, scheduledOn },
  ]);
});

test("a part of the builds is none", async () => {
  const api = await service({ [list]: { list: [], totalCount: 1 } });
  const watched = watchedServices({ api: { url: api }, provisioner: { url: api } });
  await expect(watched.activeBuilds(signal)).rejects.toThrow("expected all active builds");
  await expect(
    watchedServices({ api: { url: api }, provisioner: { url: "http://127.0.0.1:1" } }).workers(signal),
  ).rejects.toThrow("does not answer");
});

test("workers of a released provisioner do not tell their build, whatever they are called by chance", async () => {
  const told = [{ workerId: "uid", name: "default/wharf-cmd-worker-24567", status: "Success", createdAt: time }];
  const provisioner = await service({ "GET /api/worker": told });
  const watched = watchedServices({ api: { url: provisioner }, provisioner: { url: provisioner } });
  expect(await watched.workers(signal)).toEqual([
    { workerId: "uid", buildId: 0, isFinal: true, createdAt: Date.parse(time), finishedAt: undefined },
  ]);
});

test("a build that does not exist is not active, and failing one says why", async () => {
  const asked: string[] = [];
  const answers = {
    "GET /api/build/1": { status: "Running" },
    "GET /api/build/2": { status: "Completed" },
    "PUT /api/build/1/status": {},
    "DELETE /api/worker/a%2Fb?ignoreMissing=1": {},
  };
  const url = await service(answers, asked);
  const watched = watchedServices({ api: { url }, provisioner: { url } });
  expect(await Promise.all([1, 2, 3].map((id) => watched.isActive(id, signal)))).toEqual([true, false, false]);
  await watched.failBuild(1, "WorkerLost", signal);
  await watched.deleteWorker("a/b", signal);
  expect(asked.slice(3)).toEqual([
    'PUT /api/build/1/status {"status":"Failed","reason":"WorkerLost","message":"the worker of the build has gone"}',
    "DELETE /api/worker/a%2Fb?ignoreMissing=1",
  ]);
});
