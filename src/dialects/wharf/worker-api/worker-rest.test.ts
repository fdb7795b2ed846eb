import { appendFile } from "node:fs/promises";
import { request } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { type ServedBuild, serveBuild } from "./testing/served-build.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(options: Parameters<typeof serveBuild>[1] = {}): Promise<ServedBuild> {
  const build = await serveBuild(2, options);
  closers.push(() => build.close());
  return build;
}

const ask = (build: ServedBuild, path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(build.url(path), { method, headers });

const json = async (build: ServedBuild, path: string): Promise<unknown> => (await ask(build, path)).json();

test("a build is its document without who writes it, and its logs", async () => {
  const build = await serve();
  await build.print(1, "a\nb\n");
  const document = await json(build, "/api/build");
  expect(document).toMatchObject({
    buildId: 7,
    status: "Running",
    frozen: false,
    stages: [{ stageId: 1, name: "build", steps: [1, 2] }],
    logs: [
      { stepId: 1, lines: 2, bytes: build.results.logs[0]?.bytes },
      { stepId: 2, lines: 0, bytes: 0 },
    ],
  });
  expect(document).not.toHaveProperty("owner");
  await build.end();
  expect(await json(build, "/api/build")).toMatchObject({ status: "Success", frozen: true });
});

test("steps have their stage, their status and its number", async () => {
  const build = await serve();
  await build.print(1, "a\n");
  expect(await json(build, "/api/build/step")).toEqual([
    {
      stepId: 1,
      parentId: 1,
      stage: "build",
      name: "step1",
      type: "container",
      status: "Success",
      statusId: 5,
      exitCode: 0,
      startedAt: expect.any(String) as string,
      finishedAt: expect.any(String) as string,
      logLines: 1,
    },
    expect.objectContaining({ stepId: 2, status: "None", statusId: 1, exitCode: null, startedAt: null, logLines: 0 }),
  ]);
});

describe("a log", () => {
  test("is its messages, or its lines, from anywhere", async () => {
    const build = await serve();
    await build.print(1, "a\nb\nc\n");
    const text = async (query: string) => (await ask(build, `/api/build/step/1/log${query}`)).text();
    expect(await text("")).toBe("a\nb\nc\n");
    expect(await text("?after=1")).toBe("b\nc\n");
    expect(await text("?after=9")).toBe("");
    expect(await text("?timestamps=1")).toMatch(/^(?:\d{4}-\d\d-\d\dT\S+Z [abc]\n){3}$/);
    expect(await text("?timestamps=1&after=2")).toMatch(/^\S+Z c\n$/);
    expect((await ask(build, "/api/build/step/2/log")).headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  test("is followed until the end of the build", async () => {
    const build = await serve();
    await build.print(1, "a\n");
    const response = await ask(build, "/api/build/step/2/log?follow=1");
    const text = response.text();
    await build.print(2, "b\nc\n");
    await build.end();
    expect(await text).toBe("b\nc\n");
  });

  test("gives parts of its file", async () => {
    const build = await serve();
    await build.print(1, "a\nb\n");
    const all = await (await ask(build, "/api/build/step/1/log?timestamps=1")).text();
    const part = await ask(build, "/api/build/step/1/log?timestamps=1", { range: "bytes=-4" });
    expect([part.status, await part.text()]).toEqual([206, all.slice(-4)]);
  });

  test("that is left while it is followed is let go", async () => {
    const build = await serve();
    const leaving = new AbortController();
    await fetch(build.url("/api/build/step/1/log?follow=1"), { signal: leaving.signal });
    await expect.poll(() => build.results.changes.waiting).toBe(1);
    leaving.abort();
    await expect.poll(() => build.results.changes.waiting).toBe(0);
  });
});

describe("an artifact", () => {
  const name = 'out/grün "a"; b.txt';

  async function serveArtifact(content = "0123456789"): Promise<ServedBuild> {
    const build = await serve();
    await build.leave(2, name, content);
    return build;
  }

  test("is listed, of its step too", async () => {
    const build = await serveArtifact();
    const listed = [
      {
        artifactId: 1,
        stepId: 2,
        name,
        fileName: "grün _a_; b.txt",
        size: 10,
        sha256: "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882",
        contentType: "text/plain",
        testResults: false,
      },
    ];
    expect(await json(build, "/api/artifact")).toEqual(listed);
    expect(await json(build, "/api/artifact?stepId=2")).toEqual(listed);
    expect(await json(build, "/api/artifact?stepId=1")).toEqual([]);
  });

  test("is downloaded as what it is, under its own name", async () => {
    const build = await serveArtifact();
    const response = await ask(build, "/api/artifact/1/download");
    expect([response.status, await response.text()]).toEqual([200, "0123456789"]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-length": "10",
      "content-type": "text/plain",
      "accept-ranges": "bytes",
      etag: '"84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"',
      "content-disposition": `attachment; filename="gr_n _a_; b.txt"; filename*=UTF-8''gr%C3%BCn%20%22a%22%3B%20b.txt`,
      "x-content-type-options": "nosniff",
    });
  });

  test.each([
    ["bytes=0-0", 206, "0", "bytes 0-0/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=8-99", 206, "89", "bytes 8-9/10"],
    ["bytes=0-1,4-5", 200, "0123456789", null],
  ])("in part: %s", async (range, status, text, contentRange) => {
    const response = await ask(await serveArtifact(), "/api/artifact/1/download", { range });
    expect([response.status, await response.text(), response.headers.get("content-range")]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });

  test("in a part that it does not have is refused with what it has", async () => {
    const response = await ask(await serveArtifact(), "/api/artifact/1/download", { range: "bytes=10-" });
    expect([response.status, response.headers.get("content-range")]).toEqual([416, "bytes */10"]);
    expect(await response.json()).toMatchObject({ type: "/prob/api/range-not-satisfiable" });
  });

  test("that the caller has already is not sent, and part of another one is not taken for part of it", async () => {
    const build = await serveArtifact();
    const { headers } = await ask(build, "/api/artifact/1/download", {}, "HEAD");
    const etag = headers.get("etag") ?? "";
    for (const known of [etag, `"x", ${etag}`, `W/${etag}`, "*"]) {
      const response = await ask(build, "/api/artifact/1/download", { "if-none-match": known });
      expect([known, response.status, await response.text()]).toEqual([known, 304, ""]);
    }
    const range = "bytes=0-1";
    expect((await ask(build, "/api/artifact/1/download", { "if-none-match": '"x"' })).status).toBe(200);
    expect((await ask(build, "/api/artifact/1/download", { range, "if-range": etag })).status).toBe(206);
    expect((await ask(build, "/api/artifact/1/download", { range, "if-range": '"x"' })).status).toBe(200);
  });

  test("is described without its bytes", async () => {
    const response = await ask(await serveArtifact(), "/api/artifact/1/download", {}, "HEAD");
    expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "10", ""]);
    expect(response.headers.get("x-hono-already-sent")).toBeNull();
  });

  test("of no bytes is one", async () => {
    const response = await ask(await serveArtifact(""), "/api/artifact/1/download");
    expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "0", ""]);
  });

  test("that has grown on the disk is as long as was announced", async () => {
    const build = await serveArtifact();
    const artifact = build.results.steps[1]?.artifacts[0];
    await appendFile(`${build.results.directory}/steps/2/${artifact?.path}`, "more");
    expect(await (await ask(build, "/api/artifact/1/download")).text()).toBe("0123456789");
  });
});

test.each([
  ["/api/artifact/x/download", 400, "/prob/api/invalid-param-uint"],
  ["/api/artifact/9/download", 404, "/prob/api/record-not-found"],
  ["/api/artifact?stepId=-1", 400, "/prob/api/invalid-param-uint"],
  ["/api/build/step/x/log", 400, "/prob/api/invalid-param-uint"],
  ["/api/build/step/9/log", 404, "/prob/api/record-not-found"],
  ["/api/build/step/1/log?after=x", 400, "/prob/api/invalid-param-uint"],
  ["/api/build/step/1/log?follow=maybe", 400, "/prob/api/invalid-param"],
])("what is asked wrongly is a problem: %s", async (path, status, type) => {
  const response = await ask(await serve(), path);
  expect([response.status, ((await response.json()) as { type: string }).type]).toEqual([status, type]);
});

describe("a cancel", () => {
  const cancel = (build: ServedBuild, body?: string) =>
    fetch(build.url("/api/build/cancel"), { method: "POST", ...(body === undefined ? {} : { body }) });

  test("is accepted as often as it is asked for, with its reason or without, and means nothing after the end", async () => {
    const reasons: (string | undefined)[] = [];
    const build = await serve({ cancel: (reason) => void reasons.push(reason) });
    expect((await cancel(build, '{"reason": "wrong branch"}')).status).toBe(202);
    expect((await cancel(build)).status).toBe(202);
    await build.end();
    const last = await cancel(build);
    expect([last.status, await last.json()]).toEqual([202, { status: "Success" }]);
    expect(reasons).toEqual(["wrong branch", undefined]);
  });

  test.each(["[", "[]7", '{"reason": 7}', "null"])("with the body %s is refused", async (body) => {
    const build = await serve({ cancel: () => expect.unreachable() });
    const response = await cancel(build, body);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { type: "/prob/api/unexpected-body-read-error" },
    ]);
  });

  test("by a page of another site does not happen", async () => {
    const build = await serve({ cancel: () => expect.unreachable() });
    const status = await new Promise((resolve) => {
      const headers = { origin: "https://evil.example" };
      request(build.url("/api/build/cancel"), { method: "POST", headers }, ({ statusCode }) =>
        resolve(statusCode),
      ).end();
    });
    expect(status).toBe(403);
  });
});
