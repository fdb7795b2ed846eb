import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { Secret } from "#kernel/model/index.ts";
import { Build, Project } from "../kinds.ts";
import { TestEngine, TestPlane } from "../testing/plane.ts";

let engine: TestEngine;
let plane: TestPlane;
beforeEach(async () => {
  engine = await TestEngine.open();
  plane = await new TestPlane([engine.engine]).synced();
});
afterEach(async () => {
  await plane.close();
  await engine.close();
});

const definition = `inputs:
  - {name: message, type: string, default: hello}
  - {name: count, type: number, default: 3}
  - {name: key, type: password, default: none}
  - {name: colour, type: choice, values: [red, blue], default: red}
build:
  web:
    container: {image: alpine, cmds: [make]}
`;

const ask = (method: string, path: string, body?: JsonObject) => plane.ask(method, path, body);

/** Number 1 with a branch. */
async function project(more: JsonObject = {}): Promise<void> {
  const body = { name: "web", groupName: "Tools", gitUrl: "https://git.example/tools/web.git", ...more };
  expect(await ask("POST", "/api/project", body)).toMatchObject({ status: 201, body: { projectId: 1 } });
  expect(await ask("POST", "/api/project/1/branch", { name: "main", default: true })).toMatchObject({ status: 201 });
}

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);

describe("projects", () => {
  test("have the members that clients know, empty where nothing was said", async () => {
    await project({ buildDefinition: definition });
    expect(await ask("GET", "/api/project/1")).toEqual({
      status: 200,
      body: {
        updatedAt: time,
        createdAt: time,
        projectId: 1,
        remoteProjectId: "",
        name: "web",
        groupName: "Tools",
        description: "",
        avatarUrl: "",
        tokenId: 0,
        providerId: 0,
        provider: null,
        buildDefinition: definition,
        branches: [
          { updatedAt: time, createdAt: time, branchId: 1, projectId: 1, name: "main", default: true, tokenId: 0 },
        ],
        gitUrl: "https://git.example/tools/web.git",
        build: expect.objectContaining({ build: { web: { container: { image: "alpine", cmds: ["make"] } } } }),
      },
    });
  });

  test("are replaced, but for branches and overrides, which win where they say something", async () => {
    await project({ description: "old" });
    expect(await ask("GET", "/api/project/1/override")).toEqual({
      status: 200,
      body: { projectId: 1, description: "", avatarUrl: "", gitUrl: "" },
    });
    const overrides = { description: "mine", avatarUrl: "", gitUrl: "ssh://git@h/x.git" };
    expect(await ask("PUT", "/api/project/1/override", overrides)).toEqual({
      status: 200,
      body: { projectId: 1, ...overrides },
    });
    const changed = await ask("PUT", "/api/project/1", { name: "web2", avatarUrl: "a.png", gitUrl: "https://h/y" });
    expect(changed).toMatchObject({
      status: 200,
      body: { name: "web2", groupName: "", description: "mine", avatarUrl: "a.png", gitUrl: "ssh://git@h/x.git" },
    });
    expect(changed.body["branches"]).toHaveLength(1);
    expect(await ask("DELETE", "/api/project/1/override")).toEqual({ status: 204, body: {} });
    expect((await ask("GET", "/api/project/1")).body).toMatchObject({ description: "", gitUrl: "https://h/y" });
    expect(await ask("DELETE", "/api/project/1")).toEqual({ status: 204, body: {} });
    await expect.poll(() => ask("GET", "/api/project/1")).toMatchObject({ status: 404 });
  });

  test("with a password in their address are refused, and shown without it where it is there already", async () => {
    const gitUrl = "https://me:tea@h/x.git";
    const refused = { status: 400, body: { errors: [expect.stringContaining("tokenId")] } };
    expect(await ask("POST", "/api/project", { name: "web", gitUrl })).toMatchObject(refused);
    await project({ gitUrl: "https://me@h/x.git" });
    expect(await ask("PUT", "/api/project/1/override", { gitUrl })).toMatchObject(refused);
    await plane.store.create(Project, {
      apiVersion: "wharf.slipway.dev/v1alpha1",
      kind: "Project",
      metadata: { namespace: "default", name: "old" },
      spec: { name: "old", projectId: 9, gitUrl },
    });
    await expect.poll(() => ask("GET", "/api/project/9")).toMatchObject({ body: { gitUrl: "https://me:***@h/x.git" } });
  });

  test("have branches, of which one is the default", async () => {
    await project();
    await ask("POST", "/api/project/1/branch", { name: "next" });
    await ask("POST", "/api/project/1/branch", { name: "stable", default: true });
    const { body } = await ask("GET", "/api/project/1/branch");
    expect(body).toMatchObject({ totalCount: 3, defaultBranch: { name: "stable", branchId: 3 } });
    const replaced = { defaultBranch: "b", branches: [{ name: "a" }, { name: "b" }, { name: "a" }] };
    expect(await ask("PUT", "/api/project/1/branch", replaced)).toMatchObject({
      status: 200,
      body: { defaultBranch: { name: "b", default: true }, branches: [{ name: "a" }, { name: "b" }] },
    });
    expect(await ask("PUT", "/api/project/1/branch", { defaultBranch: "c", branches: [{}] })).toMatchObject({
      status: 400,
      body: {
        errors: [
          "branches[0].name: expected a text that is not empty",
          "defaultBranch: expected the name of one of the branches",
        ],
      },
    });
  });

  test("are listed by pages, orders and filters", async () => {
    for (const name of ["web", "api", "db"]) await ask("POST", "/api/project", { name, groupName: "Tools" });
    const names = async (query: string) => {
      const { body } = await ask("GET", `/api/project${query}`);
      const list = body["list"] as readonly JsonObject[];
      return [list.map((one) => one["name"] as string).join(" "), body["totalCount"]];
    };
    expect(await names("")).toEqual(["db api web", 3]);
    expect(await names("?orderby=name%20asc&limit=2&offset=1")).toEqual(["db web", 3]);
    expect(await names("?name=api")).toEqual(["api", 1]);
    expect(await names("?nameMatch=B")).toEqual(["db web", 2]);
    expect(await names("?match=tool&limit=")).toEqual(["db api web", 3]);
    expect(await names("?orderby=groupName%20asc&orderby=projectId%20asc")).toEqual(["web api db", 3]);
  });
});

describe("tokens and providers", () => {
  test("values of tokens go in and never out", async () => {
    const created = await ask("POST", "/api/token", { token: "s3cret", userName: "ann" });
    const token = { updatedAt: time, createdAt: time, tokenId: 1, token: "***", userName: "ann" };
    expect(created).toEqual({ status: 201, body: token });
    expect(await ask("GET", "/api/token/1")).toEqual({ status: 200, body: token });
    expect(await ask("GET", "/api/token")).toEqual({ status: 200, body: { list: [token], totalCount: 1 } });
    await ask("PUT", "/api/token/1", { token: "other", userName: "bob" });
    const secret = await plane.store.get({ type: Secret, namespace: "default", name: "wharf-token-1" });
    expect(secret).toMatchObject({ data: { token: Buffer.from("other").toString("base64") } });
  });

  test("a project names both, and they have to be there", async () => {
    expect(await ask("POST", "/api/provider", { name: "gitlab", url: "https://gitlab.example" })).toEqual({
      status: 201,
      body: {
        updatedAt: time,
        createdAt: time,
        providerId: 1,
        name: "gitlab",
        url: "https://gitlab.example",
        tokenId: 0,
      },
    });
    await ask("POST", "/api/token", { token: "s3cret", userName: "ann", providerId: 1 });
    expect((await ask("GET", "/api/provider/1")).body).toMatchObject({ tokenId: 1 });
    await project({ tokenId: 1, providerId: 1 });
    expect((await ask("GET", "/api/project/1")).body).toMatchObject({ tokenId: 1, provider: { name: "gitlab" } });
    expect(await ask("POST", "/api/project", { name: "x", tokenId: 7 })).toMatchObject({ status: 404 });
    expect(await ask("POST", "/api/provider", { name: "svn", url: "x" })).toMatchObject({ status: 400 });
    await ask("POST", "/api/project/1/build");
    expect(engine.asked[0]?.parameters).toMatchObject({ GIT_TOKEN: "s3cret" });
  });
});

describe("a token goes to no other server than the one it was given for", () => {
  const evil = "https://evil.example/x.git";
  const refused = { status: 400, body: { detail: expect.stringContaining("is not sent to https://evil.example") } };

  test("not by a change of the project, nor by another project", async () => {
    await ask("POST", "/api/token", { token: "s3cret", userName: "ann" });
    await project({ tokenId: 1 });
    expect(await ask("PUT", "/api/project/1", { name: "web", gitUrl: evil, tokenId: 1 })).toMatchObject(refused);
    expect(await ask("POST", "/api/project", { name: "other", gitUrl: evil, tokenId: 1 })).toMatchObject(refused);
    // Without the token, or with one that was given for it, the project may move.
    expect(await ask("PUT", "/api/project/1", { name: "web", gitUrl: evil })).toMatchObject({ status: 200 });
    await ask("POST", "/api/project/1/build");
    expect(engine.asked[0]?.parameters).toMatchObject({ GIT_FULLURL: evil });
    expect(engine.asked[0]?.parameters).not.toHaveProperty("GIT_TOKEN");
    await ask("PUT", "/api/token/1", { token: "for-evil", userName: "ann" });
    expect(await ask("PUT", "/api/project/1", { name: "web", gitUrl: evil, tokenId: 1 })).toMatchObject({
      status: 200,
    });
    await ask("POST", "/api/project/1/build");
    expect(engine.asked[1]?.parameters).toMatchObject({ GIT_FULLURL: evil, GIT_TOKEN: "for-evil" });
  });

  test("not by a build of a project that was changed in another way", async () => {
    await ask("POST", "/api/token", { token: "s3cret", userName: "ann" });
    await project({ tokenId: 1 });
    const web = { type: Project, namespace: "default", name: "project-1" };
    await plane.store.patch(web, { type: "merge", body: { spec: { overrides: { gitUrl: evil } } } });
    await expect
      .poll(() => ask("GET", "/api/project/1"))
      .toMatchObject({ body: { gitUrl: expect.stringContaining("evil") } });
    expect(await ask("POST", "/api/project/1/build")).toMatchObject({ status: 502 });
    expect(engine.asked).toEqual([]);
    expect((await ask("GET", "/api/build/1")).body).toMatchObject({ status: "Failed", reason: "Unstartable" });
  });

  test("not before its first build either, whoever stores it, nor when its value is given again", async () => {
    const bound = async (name: string) => {
      const { metadata } = await plane.store.get({ type: Secret, namespace: "default", name });
      return metadata.annotations?.["wharf.slipway.dev/token-origin"];
    };
    await ask("POST", "/api/token", { token: "s3cret", userName: "ann" });
    await project({ tokenId: 1 });
    await ask("PUT", "/api/token/1", { token: "other", userName: "ann" });
    expect(await bound("wharf-token-1")).toBe("https://git.example");
    expect(await ask("POST", "/api/project", { name: "other", gitUrl: evil, tokenId: 1 })).toMatchObject(refused);
    // With kubectl: a Secret is bound when a project names it.
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace: "default", name: "git" } };
    await plane.store.create(Secret, { ...secret, data: { token: "dA==" } });
    const named = {
      name: "by-hand",
      gitUrl: "https://git.example/a.git",
      tokenSecretRef: { name: "git", key: "token" },
    };
    const metadata = { namespace: "default", name: "by-hand" };
    await plane.store.create(Project, {
      apiVersion: "wharf.slipway.dev/v1alpha1",
      kind: "Project",
      metadata,
      spec: named,
    });
    await expect.poll(() => bound("git")).toBe("https://git.example");
  });

  test("nor that of a provider", async () => {
    await ask("POST", "/api/provider", { name: "gitlab", url: "https://gitlab.example" });
    await ask("POST", "/api/token", { token: "s3cret", userName: "ann", providerId: 1 });
    const moved = { name: "gitlab", url: "https://evil.example" };
    expect(await ask("PUT", "/api/provider/1", { ...moved, tokenId: 1 })).toMatchObject({ status: 400 });
    expect(await ask("PUT", "/api/provider/1", moved)).toMatchObject({ status: 200, body: { tokenId: 0 } });
  });
});

test("a build that starts is audited with its caller, its repository and the way it came", async () => {
  await project({ gitUrl: "https://glpat-t0ken@git.example/tools/web.git" });
  await ask("POST", "/api/project/1/build");
  expect(plane.audited).toEqual([
    {
      event: "build-started",
      user: "system:anonymous",
      via: "wharf-api",
      build: "default/build-1",
      number: 1,
      project: "project-1",
      repository: "https://git.example/tools/web.git",
      worker: "wharf-cmd-worker-local-1",
    },
  ]);
});

test("clients without a token can add no more than a thousand records of a kind", async () => {
  const spec = { name: "many" };
  await Promise.all(
    Array.from({ length: 1000 }, async (_, at) => {
      const metadata = { namespace: "default", name: `many-${at}` };
      await plane.store.create(Project, { apiVersion: "wharf.slipway.dev/v1alpha1", kind: "Project", metadata, spec });
    }),
  );
  await expect.poll(async () => (await ask("POST", "/api/project", spec)).status).toBe(429);
  // The door of wharf-api looks at no query: what stands there has not been checked.
  expect((await ask("POST", "/api/project?token=x", spec)).status).toBe(429);
  const request = { method: "POST", body: JSON.stringify(spec), headers: { authorization: "Bearer checked before" } };
  expect((await plane.api.request("/api/project", request, {})).status).toBe(201);
});

describe("starting a build", () => {
  test("asks the engine with the inputs of the definition, and answers with the number", async () => {
    await project({ buildDefinition: definition });
    const started = await ask("POST", "/api/project/1/build?stage=build&environment=prod", { count: 7, key: "s3cret" });
    expect(started).toEqual({ status: 200, body: { buildRef: "1" } });
    expect(engine.asked).toEqual([
      {
        method: "POST",
        path: "/api/worker",
        parameters: {
          REPO_NAME: "web",
          REPO_GROUP: "tools",
          REPO_BRANCH: "main",
          GIT_BRANCH: "main",
          RUN_STAGES: "build",
          ENVIRONMENT: "prod",
          BUILD_REF: "1",
          VARS: "message: hello\ncount: 7\ncolour: red\nkey: s3cret\n",
          GIT_FULLURL: "https://git.example/tools/web.git",
          WHARF_PROJECT_ID: "1",
          WHARF_INSTANCE: "local",
        },
      },
    ]);
    expect(await ask("GET", "/api/build/1")).toEqual({
      status: 200,
      body: {
        updatedAt: time,
        createdAt: time,
        buildId: 1,
        statusId: 0,
        status: "Scheduling",
        projectId: 1,
        scheduledOn: time,
        startedOn: null,
        finishedOn: null,
        gitBranch: "main",
        environment: "prod",
        stage: "build",
        workerId: "wharf-cmd-worker-local-1",
        params: [
          { buildId: 1, name: "message", value: "hello" },
          { buildId: 1, name: "count", value: "7" },
          { buildId: 1, name: "colour", value: "red" },
          { buildId: 1, name: "key", value: "***" },
        ],
        isInvalid: false,
        testResultSummaries: [],
        testResultListSummary: { buildId: 1, total: 0, failed: 0, passed: 0, skipped: 0 },
        engine: { id: "primary", name: "Primary", url: engine.engine.url, api: "wharf-cmd.v1" },
        reason: "",
        message: "",
      },
    });
  });

  test("works the older way, for a branch that was named", async () => {
    await project();
    expect(await ask("POST", "/api/project/1/deploy/run?branch=next")).toMatchObject({ body: { buildRef: "1" } });
    expect((await ask("GET", "/api/build/1")).body).toMatchObject({
      stage: "deploy",
      gitBranch: "next",
      environment: null,
    });
  });

  test.each([
    ["?engine=none", {}, 400, "invalid-param", "engine: there is no engine"],
    ["", { mesage: "x" }, 400, "project/run/params-deserialize", 'did you mean "message"?'],
    ["", { count: "many", colour: "green" }, 400, "project/run/params-deserialize", 'input "colour"'],
    ["", { count: [1] }, 400, "project/run/params-deserialize", "count: expected a text, number or boolean"],
  ])("is refused with %s and %j", async (query, body, status, type, detail) => {
    await project({ buildDefinition: definition });
    expect(await ask("POST", `/api/project/1/build${query}`, body)).toMatchObject({
      status,
      body: { type: `/prob/api/${type}`, detail: expect.stringContaining(detail) },
    });
    expect((await ask("GET", "/api/build")).body).toMatchObject({ totalCount: 0 });
  });

  test("is refused without a default branch, and for a project that is not there or has no URL", async () => {
    await ask("POST", "/api/project", { name: "bare" });
    expect(await ask("POST", "/api/project/1/build")).toMatchObject({
      status: 404,
      body: { type: "/prob/api/record-not-found" },
    });
    expect(await ask("POST", "/api/project/1/build?branch=x")).toMatchObject({
      status: 400,
      body: { type: "/prob/api/project/run/params-serialize" },
    });
    expect(await ask("POST", "/api/project/9/build")).toMatchObject({ status: 404 });
  });

  test("leaves a build that has failed where the engine does not take it", async () => {
    await project();
    engine.refusal = { status: 503, body: JSON.stringify({ detail: "no room" }) };
    expect(await ask("POST", "/api/project/1/build")).toMatchObject({
      status: 502,
      body: { type: "/prob/api/project/run/trigger", detail: expect.stringContaining("answered 503: no room") },
    });
    expect((await ask("GET", "/api/build/1")).body).toMatchObject({
      status: "Failed",
      statusId: 3,
      isInvalid: true,
      reason: "TriggerFailed",
      finishedOn: time,
    });
  });

  test("leaves a build to its controller where the answer of the engine is lost", async () => {
    await project();
    engine.isMute = true;
    expect(await ask("POST", "/api/project/1/build")).toEqual({ status: 200, body: { buildRef: "1" } });
    expect(engine.asked).toHaveLength(1);
    expect((await ask("GET", "/api/build/1")).body).toMatchObject({ status: "Scheduling", isInvalid: false });
  });

  test("notes of an engine that would start another worker that it was asked, before it is, and keeps no note of a refusal", async () => {
    await plane.close();
    plane = await new TestPlane([engine.refusing]).synced();
    await project();
    const refused = await ask("POST", "/api/project/1/build");
    expect(refused).toMatchObject({ status: 502, body: { type: "/prob/api/project/run/trigger" } });
    expect((await ask("GET", "/api/build/1")).body).toMatchObject({ status: "Failed", reason: "TriggerFailed" });
    const first = await plane.store.get<Build>({ type: Build, namespace: "default", name: "build-1" });
    expect(first.status).not.toHaveProperty("workerId");
    engine.isMute = true;
    const seen: unknown[] = [];
    engine.meanwhile = async () => {
      const ref = { type: Build, namespace: "default", name: "build-2" };
      seen.push((await plane.store.get<Build>(ref)).status?.reason);
      await plane.store.patch(ref, { type: "merge", body: { metadata: { labels: { of: "somebody" } } } });
    };
    expect(await ask("POST", "/api/project/1/build")).toMatchObject({ status: 200 });
    expect(seen).toEqual(["TriggerUnknown"]);
    expect((await ask("GET", "/api/build/2")).body).toMatchObject({
      status: "Scheduling",
      reason: "TriggerUnknown",
      message: expect.stringContaining("it may have started a worker"),
    });
  });

  test("keeps all inputs secret where nothing tells which are passwords", async () => {
    await project();
    await ask("POST", "/api/project/1/build", { key: "s3cret", count: 7 });
    expect(engine.asked[0]?.parameters).toMatchObject({ VARS: 'key: s3cret\ncount: "7"\n' });
    const build = await plane.store.get({ type: Build, namespace: "default", name: "build-1" });
    expect(JSON.stringify(build)).not.toContain("s3cret");
    expect((await ask("GET", "/api/build/1")).body).toMatchObject({
      params: [
        { name: "key", value: "***" },
        { name: "count", value: "***" },
      ],
    });
  });

  test("shows no password that somebody has put into a build", async () => {
    await project({ buildDefinition: definition });
    await plane.store.create(Build, {
      apiVersion: "wharf.slipway.dev/v1alpha1",
      kind: "Build",
      metadata: { namespace: "default", name: "build-4" },
      spec: { project: "project-1", stage: "ALL", buildId: 4, inputs: { key: "s3cret", message: "hi" } },
    });
    await expect
      .poll(async () => (await ask("GET", "/api/build/4")).body["params"])
      .toMatchObject([
        { name: "key", value: "***" },
        { name: "message", value: "hi" },
      ]);
  });

  test("gives numbers to builds that are started at once, each its own", async () => {
    await project();
    const all = await Promise.all(Array.from({ length: 20 }, () => ask("POST", "/api/project/1/build")));
    const numbers = all.map(({ body }) => Number(body["buildRef"])).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
  });
});

test("without an engine nothing can be started", async () => {
  const bare = await new TestPlane([]).synced();
  await bare.ask("POST", "/api/project", { name: "web" });
  expect(await bare.ask("POST", "/api/project/1/build?branch=x")).toMatchObject({
    status: 500,
    body: { type: "/prob/api/engine/no-default" },
  });
  expect(await bare.ask("GET", "/api/engine")).toEqual({ status: 200, body: { defaultEngine: null, list: [] } });
  await bare.close();
});

describe("states", () => {
  const tell = (status: string, more: JsonObject = {}) => ask("PUT", "/api/build/1/status", { status, ...more });
  beforeEach(async () => {
    await project();
    await ask("POST", "/api/project/1/build");
  });

  test("go forward, and their times are set once", async () => {
    const running = await tell("Running");
    expect(running).toMatchObject({
      status: 200,
      body: { status: "Running", statusId: 1, startedOn: time, finishedOn: null },
    });
    expect((await tell("Running")).body).toEqual(running.body);
    expect((await tell("Scheduling")).body).toMatchObject({ status: "Running" });
    const completed = await tell("Completed");
    expect(completed.body).toMatchObject({
      status: "Completed",
      startedOn: running.body["startedOn"],
      finishedOn: time,
    });
    expect((await tell("Failed")).body).toEqual(completed.body);
  });

  test("an end is the last word, but for a worker that was taken for lost", async () => {
    await tell("Failed", { reason: "WorkerLost", message: "nothing was heard" });
    expect((await tell("Failed", { reason: "WorkerLost", message: "again" })).body).toMatchObject({
      message: "nothing was heard",
    });
    expect((await tell("Completed")).body).toMatchObject({ status: "Completed", reason: "", message: "" });
    expect((await tell("Failed", { reason: "WorkerLost" })).body).toMatchObject({ status: "Completed" });
  });

  test("may come with what the worker has told of its steps", async () => {
    const stages = [{ stageId: 1, name: "build", status: "Success", steps: [1] }];
    const steps = [{ stepId: 1, stageId: 1, name: "web", status: "Success", exitCode: 0, startedAt: null }];
    expect(await tell("Completed", { stages, steps, outputs: { image: "x:1" } })).toMatchObject({ status: 200 });
    const wrong = await ask("PUT", "/api/build/1/status", { status: "Failed", steps: [{ stepId: "x" }] });
    expect(wrong).toMatchObject({ status: 400, body: { type: "/prob/api/invalid-param" } });
  });

  test.each([
    [{ status: "Done" }, 'status: expected one of Scheduling, Running, Completed, Failed, found "Done"'],
    [{}, "status: expected a text that is not empty"],
    [{ status: 3 }, "status: expected a text"],
  ])("%j is refused", async (body, problem) => {
    expect(await ask("PUT", "/api/build/1/status", body)).toMatchObject({
      status: 400,
      body: { type: "/prob/api/invalid-param", errors: [problem] },
    });
  });

  test("a build is canceled through its worker", async () => {
    expect(await ask("POST", "/api/build/1/cancel")).toMatchObject({ status: 202 });
    await expect
      .poll(async () => (await ask("GET", "/api/build/1")).body)
      .toMatchObject({ status: "Failed", reason: "Canceled", finishedOn: time });
    expect(engine.asked.at(-1)).toMatchObject({ method: "DELETE", path: "/api/worker/wharf-cmd-worker-local-1" });
    const before = engine.asked.length;
    expect(await ask("POST", "/api/build/1/cancel")).toMatchObject({ status: 200 });
    expect(engine.asked).toHaveLength(before);
  });

  test("builds are listed by what is asked for", async () => {
    await tell("Completed");
    await ask("POST", "/api/project/1/build?stage=test&environment=prod");
    await ask("POST", "/api/project/1/build?branch=next");
    const numbers = async (query: string) => {
      const { status, body } = await ask("GET", `/api/build${query}`);
      if (status !== 200) return body["detail"];
      return (body["list"] as readonly JsonObject[]).map(({ buildId }) => buildId);
    };
    expect(await numbers("")).toEqual([3, 2, 1]);
    expect(await numbers("?orderby=buildId%20asc&limit=2")).toEqual([1, 2]);
    expect(await numbers("?status=Completed&status=Running")).toEqual([1]);
    expect(await numbers("?statusId=0")).toEqual([3, 2]);
    expect(await numbers("?environment=prod")).toEqual([2]);
    expect(await numbers("?environment=")).toEqual([3, 1]);
    expect(await numbers("?gitBranch=next&projectId=1")).toEqual([3]);
    expect(await numbers("?projectId=2")).toEqual([]);
    expect(await numbers("?stageMatch=ES")).toEqual([2]);
    expect(await numbers("?match=NEX")).toEqual([3]);
    expect(await numbers("?workerId=wharf-cmd-worker-local-2")).toEqual([2]);
    expect(await numbers("?isInvalid=true")).toEqual([]);
    expect(await numbers("?finishedAfter=2020-01-01T00:00:00Z")).toEqual([1]);
    expect(await numbers("?scheduledBefore=2020-01-01T00:00:00Z")).toEqual([]);
    expect(await numbers("?status=Completed&statusId=1")).toBe("statusId: expected either status or statusId");
    expect(await numbers("?status=Odd")).toContain("status: expected one of");
    expect(await numbers("?statusId=4")).toContain("statusId: expected a number from 0 to 3");
    expect(await numbers("?limit=x")).toBe('limit: expected a whole number, found "x"');
    expect(await numbers("?limit=0&offset=1")).toBe("offset: expected a limit above 0 beside it");
    expect(await numbers("?offset=-1")).toBe("offset: expected 0 or more, found -1");
    expect(await numbers("?orderby=buildId")).toContain("orderby: expected a field");
    expect(await numbers("?scheduledAfter=yesterday")).toContain("scheduledAfter: expected a time of RFC 3339");
    expect(await numbers("?stage=test&stageMatch=t")).toBe("stageMatch: expected either stage or stageMatch");
  });
});

test.each([
  ["GET", "/api/build/x", 400, "invalid-param-uint", "#buildId"],
  ["GET", "/api/build/7", 404, "record-not-found"],
  ["PUT", "/api/build/7/status", 400, "invalid-param"],
  ["POST", "/api/build/7/cancel", 404, "record-not-found"],
  ["GET", "/api/project/-1", 400, "invalid-param-uint", "#projectId"],
  ["POST", "/api/project", 400, "invalid-param"],
  ["GET", "/api/provider/1", 404, "record-not-found"],
  ["GET", "/api/token/1", 404, "record-not-found"],
  ["GET", "/api/nothing", 404, "record-not-found"],
])("%s %s is refused", async (method, path, status, type, at = "") => {
  expect(await ask(method, path)).toMatchObject({
    status,
    body: { type: `/prob/api/${type}`, status, instance: `${path}${at}` },
  });
});

test("it says that it is there", async () => {
  for (const path of ["/", "/api/ping"]) expect((await ask("GET", path)).body).toEqual({ message: "pong" });
  for (const path of ["/health", "/api/health"])
    expect((await ask("GET", path)).body).toEqual({ message: "API is healthy.", isHealthy: true });
  expect((await ask("GET", "/api/version")).body).toMatchObject({
    version: "5.2.0",
    slipwayVersion: "0.0.0",
  });
  expect((await ask("GET", "/api/engine")).body).toEqual({
    defaultEngine: { id: "primary", name: "Primary", url: engine.engine.url, api: "wharf-cmd.v1" },
    list: [{ id: "primary", name: "Primary", url: engine.engine.url, api: "wharf-cmd.v1" }],
  });
});
