import { afterEach, beforeEach, expect, test } from "vitest";
import { type JsonObject, systemClock } from "#lib/base/index.ts";
import { patchStatus, retryOnConflict } from "#kernel/kit/index.ts";
import { Event, Secret, type Stored } from "#kernel/model/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { TestEngine, TestPlane } from "../testing/plane.ts";
import { Build, Project, Worker } from "../kinds.ts";
import { resubmission } from "../dialect.ts";
import { inputsSecret } from "./inputs-secret.ts";
import { moved, untriggered } from "./transitions.ts";

// Builds as kubectl and Workflows create them; the API is in memory, the engine a server of HTTP.

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

const namespace = "default";
const apiVersion = "wharf.slipway.dev/v1alpha1";

const createProject = (spec: JsonObject = {}) =>
  plane.store.create(Project, {
    apiVersion,
    kind: "Project",
    metadata: { namespace, name: "web" },
    spec: { name: "web", gitUrl: "https://git.example/web.git", ...spec },
  });

const createBuild = (name: string, spec: JsonObject = {}) =>
  plane.store.create(Build, {
    apiVersion,
    kind: "Build",
    metadata: { namespace, name },
    spec: { project: "web", stage: "ALL", ...spec },
  });

const get = (name: string): Promise<Stored<Build>> => plane.store.get<Build>({ type: Build, namespace, name });
const eventually = (name: string) => expect.poll(() => get(name).catch((thrown: unknown) => String(thrown)));

/** Starts a worker every time it is asked. */
const unrepeatable = () => ({ ...engine.engine, api: "jenkins-generic-webhook-trigger" }) as const;

const createWeb = ({ store }: TestPlane) =>
  store.create(Project, {
    apiVersion,
    kind: "Project",
    metadata: { namespace, name: "web" },
    spec: { name: "web", gitUrl: "https://git.example/web.git" },
  });

test("a build gets its number and its worker, a project its number", async () => {
  await createProject();
  await createBuild("nightly", { ref: "refs/heads/next", commit: "abc" });
  await eventually("nightly").toMatchObject({
    metadata: { finalizers: ["wharf.slipway.dev/results"] },
    spec: { buildId: 1 },
    status: { status: "Scheduling", phase: "Pending", workerId: "wharf-cmd-worker-local-1" },
  });
  expect(engine.asked).toHaveLength(1);
  expect(engine.asked[0]?.parameters).toMatchObject({
    BUILD_REF: "1",
    GIT_BRANCH: "next",
    GIT_REF: "refs/heads/next",
    GIT_COMMIT: "abc",
    RUN_STAGES: "ALL",
  });
  await expect
    .poll(() => plane.store.get({ type: Project, namespace, name: "web" }))
    .toMatchObject({ spec: { projectId: 1 } });
});

test("an engine that would start another worker is not asked again when its answer was lost; the build says so, and runs if one has begun", async () => {
  const own = await new TestPlane([unrepeatable()]).synced();
  const createIn = async (name: string) =>
    await own.store.create(Build, {
      apiVersion,
      kind: "Build",
      metadata: { namespace, name },
      spec: { project: "web", stage: "ALL" },
    });
  const read = (name: string) => own.store.get<Build>({ type: Build, namespace, name });
  try {
    engine.isMute = true;
    await createWeb(own);
    for (const name of ["one", "two"]) {
      await createIn(name);
      const message = expect.stringContaining("it may have started a worker and is not asked again");
      const waits = { status: "Scheduling", reason: "TriggerUnknown", message, workerId: "" };
      await expect.poll(() => read(name)).toMatchObject({ status: waits });
    }
    expect(engine.asked).toHaveLength(2);
    const one = await read("one");
    const running = moved(one, "Running", {}, systemClock.now());
    expect(running).toMatchObject({ status: "Running" });
    expect(running).not.toHaveProperty("reason");
    // Nothing was heard of the other one for so long.
    const two = await read("two");
    const long = new Date(systemClock.now() - 601_000).toISOString();
    await patchStatus(own.store, Build, two, { ...two.status, scheduledOn: long });
    const lost = {
      status: "Failed",
      reason: "WorkerLost",
      message: expect.stringMatching(/^no worker has reported for ten minutes/),
    };
    await expect.poll(() => read("two")).toMatchObject({ status: lost });
    expect(engine.asked).toHaveLength(2);
  } finally {
    await own.close();
  }
});

test.each([
  ["is lost", true, { reason: "TriggerUnknown", workerId: "" }],
  ["comes", false, { workerId: "wharf-cmd-worker-local-1" }],
])(
  "an engine that would start another worker is asked once when its answer %s, and somebody writes meanwhile",
  async (_what, isMute, expected) => {
    const own = await new TestPlane([unrepeatable()]).synced();
    const ref = { type: Build, namespace, name: "b" };
    const seen: unknown[] = [];
    engine.isMute = isMute;
    engine.meanwhile = async () => {
      // Whoever goes on after a crash at this moment finds that it was asked.
      seen.push((await own.store.get<Build>(ref)).status?.reason);
      await own.store.patch(ref, { type: "merge", body: { metadata: { labels: { of: "somebody" } } } });
    };
    try {
      await createWeb(own);
      await own.store.create(Build, {
        apiVersion,
        kind: "Build",
        metadata: { namespace, name: "b" },
        spec: { project: "web", stage: "ALL" },
      });
      const told = () => own.store.list(Event, { namespace });
      // Told at the end of the pass.
      await expect.poll(async () => (await told()).items).toHaveLength(1);
      const build = await own.store.get<Build>(ref);
      expect(build).toMatchObject({ metadata: { labels: { of: "somebody" } }, status: expected });
      expect(build.status?.reason).toBe(isMute ? "TriggerUnknown" : undefined);
      expect(seen).toEqual(["TriggerUnknown"]);
      expect(engine.asked).toHaveLength(1);
    } finally {
      await own.close();
    }
  },
);

test("an engine that would start another worker, and has said no, is asked again", async () => {
  const own = await new TestPlane([unrepeatable()]).synced();
  engine.refusal = { status: 500, body: "broken" };
  try {
    await createWeb(own);
    await own.store.create(Build, {
      apiVersion,
      kind: "Build",
      metadata: { namespace, name: "b" },
      spec: { project: "web", stage: "ALL" },
    });
    await expect.poll(() => engine.asked.length, { timeout: 10_000 }).toBeGreaterThan(1);
    engine.refusal = undefined;
    const read = () => own.store.get<Build>({ type: Build, namespace, name: "b" });
    await expect.poll(read).toMatchObject({ status: { workerId: "wharf-cmd-worker-local-1" } });
    expect((await read()).status).not.toHaveProperty("reason");
  } finally {
    await own.close();
  }
});

test("a number in the name is kept, and no number is given twice", async () => {
  await createProject();
  await createBuild("build-7");
  await eventually("build-7").toMatchObject({ spec: { buildId: 7 } });
  await createBuild("other");
  await eventually("other").toMatchObject({ spec: { buildId: 8 } });
  await createBuild("taken", { buildId: 7 });
  await eventually("taken").toMatchObject({
    status: { status: "Failed", isInvalid: true, reason: "NumberTaken", message: "build 7 is default/build-7" },
  });
  const numbers = () => new Set(engine.asked.map(({ parameters }) => parameters["BUILD_REF"]));
  await expect.poll(numbers).toEqual(new Set(["7", "8"]));
  expect(engine.asked).toHaveLength(2);
  // Nor is the other one's worker its own to end: what is asked is answered before the end of a pass, thus the first one's is over at the second answer.
  await plane.store.create(Worker, {
    apiVersion,
    kind: "Worker",
    metadata: { namespace, name: "wharf-cmd-worker-local-7" },
    spec: { buildRef: 7 },
  });
  await plane.store.patch(
    { type: Build, namespace, name: "taken" },
    { type: "merge", body: { spec: { cancel: true } } },
  );
  for (const action of ["first", "second"]) {
    await plane.store.create(RunAction, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { namespace, name: action },
      spec: { action: "cancel", target: { apiVersion, kind: "Build", name: "taken" } },
    });
    await expect
      .poll(() => plane.store.get({ type: RunAction, namespace, name: action }))
      .toMatchObject({ status: { phase: "Done" } });
  }
  // What the other one has left is not its own.
  await plane.store.delete({ type: Build, namespace, name: "taken" });
  await eventually("taken").toContain("not found");
  expect(plane.removed).toEqual([]);
  expect(engine.asked.filter(({ method }) => method === "DELETE")).toEqual([]);
});

test("a build with another's number that is deleted before its first pass takes nothing of the other one", async () => {
  await createProject();
  await createBuild("build-10");
  await eventually("build-10").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-10" } });
  const other = { namespace: "kube-system", name: "late" };
  // Deleted in the moment of its creation, as far as any controller can see.
  const finalizers = ["wharf.slipway.dev/results"];
  const created = plane.store.create(Build, {
    apiVersion,
    kind: "Build",
    metadata: { ...other, finalizers },
    spec: { project: "web", stage: "ALL", buildId: 10 },
  });
  await created.then(() => plane.store.delete({ type: Build, ...other }));
  await expect
    .poll(() => plane.store.get({ type: Build, ...other }).catch((thrown: unknown) => String(thrown)))
    .toContain("not found");
  expect(plane.removed).toEqual([]);
  expect(engine.asked.filter(({ method }) => method === "DELETE")).toEqual([]);
  expect(await get("build-10")).toMatchObject({ status: { status: "Scheduling" } });
});

test("a build that has its worker keeps its number, whatever another one is called", async () => {
  await createProject();
  await createBuild("nightly", { buildId: 10 });
  await eventually("nightly").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-10" } });
  await createBuild("build-10", { buildId: 10 });
  await eventually("build-10").toMatchObject({
    status: { status: "Failed", reason: "NumberTaken", message: "build 10 is default/nightly" },
  });
  expect(await get("nightly")).toMatchObject({ status: { status: "Scheduling" } });
});

test("of builds with one number and without a worker the oldest has it, of one second that with the lowest uid", async () => {
  const names = ["a", "b", "c", "d"];
  await Promise.all(names.map((name) => createBuild(name, { buildId: 10 })));
  const rank = ({ metadata }: Stored<Build>) => `${metadata.creationTimestamp} ${metadata.uid}`;
  const builds = await Promise.all(names.map(get));
  const [first] = builds.toSorted((x, y) => (rank(x) < rank(y) ? -1 : 1)).map(({ metadata }) => metadata.name);
  for (const name of names.filter((one) => one !== first))
    await eventually(name).toMatchObject({
      status: { reason: "NumberTaken", message: `build 10 is default/${first}` },
    });
  await createProject();
  await eventually(first ?? "").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-10" } });
});

test("a build that comes before its project waits for it", async () => {
  await createBuild("early");
  await eventually("early").toMatchObject({ status: { status: "Scheduling" } });
  expect(engine.asked).toEqual([]);
  await createProject();
  await eventually("early").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-1" } });
});

test("an engine that refuses is asked again, and then has its worker", async () => {
  await createProject();
  engine.refusal = { status: 500, body: "broken" };
  await createBuild("b");
  await expect.poll(() => engine.asked.length).toBeGreaterThan(1);
  engine.refusal = undefined;
  await eventually("b").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-1", status: "Scheduling" } });
});

test("a build that is given up has its worker ended, should there be one, and one that runs is not given up", async () => {
  await createProject();
  engine.refusal = { status: 500, body: "broken" };
  await createBuild("b");
  await eventually("b").toMatchObject({ status: { status: "Scheduling" } });
  const scheduledOn = "2020-01-01T00:00:00Z";
  await retryOnConflict({ clock: systemClock }, async () => {
    const build = await get("b");
    await patchStatus(plane.store, Build, build, { ...build.status, scheduledOn });
  });
  await eventually("b").toMatchObject({ status: { status: "Failed", reason: "TriggerFailed", isInvalid: true } });
  expect(engine.asked.at(-1)).toMatchObject({ method: "DELETE", parameters: { ignoreMissing: "1" } });
  const running = { ...(await get("b")), status: { status: "Running" as const } };
  expect(untriggered(running, "TriggerFailed", "no answer", 0)).toBeUndefined();
});

test("how long an engine is asked is a setting", async () => {
  const impatient = await new TestPlane([engine.engine], { triggerDeadlineMs: 0 }).synced();
  engine.refusal = { status: 500, body: "broken" };
  const metadata = { namespace, name: "web" };
  try {
    const spec = { name: "web", gitUrl: "https://git.example/web.git" };
    await impatient.store.create(Project, { apiVersion, kind: "Project", metadata, spec });
    await impatient.store.create(Build, {
      apiVersion,
      kind: "Build",
      metadata,
      spec: { project: "web", stage: "ALL" },
    });
    await expect
      .poll(() => impatient.store.get<Build>({ type: Build, namespace, name: "web" }))
      .toMatchObject({ status: { status: "Failed", reason: "TriggerFailed" } });
  } finally {
    await impatient.close();
  }
});

test.each([
  [{ engine: "none" }, 'there is no engine "none"'],
  [{ inputs: { mesage: "x" } }, 'inputs: there is no input "mesage" (did you mean "message"?)'],
])("a build with %j cannot be started", async (spec, message) => {
  await createProject({ buildDefinition: "inputs: [{name: message, type: string}]" });
  await createBuild("b", spec);
  await eventually("b").toMatchObject({
    status: { status: "Failed", phase: "Failed", isInvalid: true, reason: "Unstartable", message },
  });
});

test("values of passwords come from Secrets", async () => {
  await plane.store.create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: "keys" },
    data: { nuget: Buffer.from("s3cret").toString("base64") },
  });
  await createProject();
  await createBuild("b", { inputs: { key: { secretKeyRef: { name: "keys", key: "nuget" } }, n: 3 } });
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  expect(engine.asked[0]?.parameters["VARS"]).toBe('key: s3cret\n"n": "3"\n');
});

test.each([
  ["passwords", "inputs: [{name: pw, type: password}, {name: v, type: string}]", { v: "1.0" }],
  ["all inputs without a definition", undefined, {}],
])("%s that a build says itself are moved to a Secret before it begins", async (_what, buildDefinition, plain) => {
  await createProject(buildDefinition === undefined ? {} : { buildDefinition });
  const applied = JSON.stringify({ spec: { inputs: { pw: "hunter22" } } });
  const key = "kubectl.kubernetes.io/last-applied-configuration";
  await plane.store.create(Build, {
    apiVersion,
    kind: "Build",
    metadata: { namespace, name: "b", annotations: { [key]: applied, kept: "yes" } },
    spec: { project: "web", stage: "ALL", inputs: { v: "1.0", pw: "hunter22" } },
  });
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  const build = await get("b");
  expect(JSON.stringify(build)).not.toContain("hunter22");
  expect(build.spec.inputs).toMatchObject({
    pw: { secretKeyRef: { name: `b-inputs-${build.metadata.uid.slice(-12)}` } },
    ...plain,
  });
  expect(build.metadata.annotations).toEqual({ kept: "yes" });
  const { items } = await plane.store.list(Secret, { namespace });
  expect(items.map(({ metadata }) => metadata.ownerReferences?.[0]?.uid)).toEqual([build.metadata.uid]);
  expect(engine.asked).toHaveLength(1);
  expect(engine.asked[0]?.parameters["VARS"]).toContain("pw: hunter22\n");
});

test("values that a pass was moving when it was cut off are moved by the next one", async () => {
  await createBuild("b", { inputs: { pw: "hunter22" } });
  await eventually("b").toMatchObject({ spec: { buildId: 1 } });
  const build = await get("b");
  await plane.store.create(Secret, inputsSecret(build, `b-inputs-${build.metadata.uid.slice(-12)}`, ["other"]));
  await createProject();
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  expect(JSON.stringify(await get("b"))).not.toContain("hunter22");
  expect(engine.asked[0]?.parameters["VARS"]).toContain("pw: hunter22\n");
});

test("a definition that comes to hide more inputs takes no value from those that were hidden before", async () => {
  await createProject({ buildDefinition: "inputs: [{name: v, type: string}, {name: pw, type: password}]" });
  await createBuild("b", { inputs: { v: "1.0", pw: "hunter22" } });
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  const project = { type: Project, namespace, name: "web" };
  await plane.store.patch(project, { type: "merge", body: { spec: { buildDefinition: "" } } });
  await plane.store.patch(
    { type: Build, namespace, name: "b" },
    { type: "merge", body: { metadata: { labels: { a: "" } } } },
  );
  const name = `b-inputs-${(await get("b")).metadata.uid.slice(-12)}`;
  await eventually("b").toMatchObject({
    spec: {
      inputs: { v: { secretKeyRef: { name, key: "input-2" } }, pw: { secretKeyRef: { name, key: "input-1" } } },
    },
  });
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  expect(await plane.store.get({ type: Secret, namespace, name })).toMatchObject({
    data: { "input-1": base64("hunter22"), "input-2": base64("1.0") },
  });
});

test("values of a build that ends before it begins are moved, too", async () => {
  await createBuild("b", { inputs: { pw: "hunter22" }, cancel: true });
  await eventually("b").toMatchObject({
    spec: { inputs: { pw: { secretKeyRef: { key: "input-1" } } } },
    status: { status: "Failed", reason: "Canceled" },
  });
});

test("values of an earlier build of the name, whose uid begins alike, are not taken for its own", async () => {
  await createBuild("b", { inputs: { pw: "hunter22" } });
  await eventually("b").toMatchObject({ spec: { buildId: 1 } });
  const build = await get("b");
  const uid = `${build.metadata.uid.slice(0, 24)}000000000000`;
  const earlier = { ...build, metadata: { ...build.metadata, uid } };
  for (const part of [uid.slice(0, 8), uid.slice(-12)])
    await plane.store.create(Secret, inputsSecret(earlier, `b-inputs-${part}`, ["earlier"]));
  await createProject();
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  expect(engine.asked[0]?.parameters["VARS"]).toContain("pw: hunter22\n");
});

test("a build that was made of another one has the values of its Secret in one of its own, and goes on without it", async () => {
  await createProject({ buildDefinition: "inputs: [{name: pw, type: password}, {name: v, type: string}]" });
  await createBuild("b", { inputs: { pw: "hunter22", v: "1" } });
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  const first = await get("b");
  await plane.store.create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: "shared" },
    data: { v: Buffer.from("2").toString("base64") },
  });
  const again = resubmission(first);
  const shared = { secretKeyRef: { name: "shared", key: "v" } };
  await createBuild("c", { ...(again as unknown as Build).spec, inputs: { ...first.spec.inputs, v: shared } });
  await eventually("c").toMatchObject({ status: { workerId: expect.any(String) } });
  const second = await get("c");
  const name = `c-inputs-${second.metadata.uid.slice(-12)}`;
  // What somebody has made for many builds is referred to as before.
  expect(second.spec.inputs).toEqual({ pw: { secretKeyRef: { name, key: "input-1" } }, v: shared });
  const own = await plane.store.get({ type: Secret, namespace, name });
  expect(own.metadata.ownerReferences).toMatchObject([{ kind: "Build", name: "c", uid: second.metadata.uid }]);
  expect(engine.asked.at(-1)?.parameters["VARS"]).toContain("pw: hunter22\n");
});

test("a command cancels a build, whose worker is ended, and is answered", async () => {
  await createProject();
  await createBuild("b");
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  const action = (name: string) =>
    plane.store.create(RunAction, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { namespace, name },
      spec: { action: "cancel", target: { apiVersion, kind: "Build", name: "b" } },
    });
  const answer = (name: string) => expect.poll(() => plane.store.get({ type: RunAction, namespace, name }));
  await action("stop");
  await answer("stop").toMatchObject({ status: { phase: "Done", message: "canceled" } });
  await eventually("b").toMatchObject({
    status: {
      status: "Failed",
      phase: "Canceled",
      reason: "Canceled",
      conditions: [
        { type: "Complete", status: "False" },
        { type: "Failed", status: "True", reason: "Canceled", message: "the build was canceled" },
      ],
    },
  });
  expect(engine.asked.at(-1)).toMatchObject({ method: "DELETE", parameters: { ignoreMissing: "1" } });
  await createBuild("c");
  await eventually("c").toMatchObject({ status: { workerId: expect.any(String) } });
  await plane.ask("PUT", "/api/build/2/status", { status: "Completed" });
  await plane.store.create(RunAction, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "RunAction",
    metadata: { namespace, name: "late" },
    spec: { action: "cancel", target: { apiVersion, kind: "Build", name: "c" } },
  });
  await answer("late").toMatchObject({ status: { phase: "Refused" } });
});

test("a canceled build is over when its worker is gone", async () => {
  await createProject();
  await createBuild("b");
  await eventually("b").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-1" } });
  const worker = { namespace, name: "wharf-cmd-worker-local-1" };
  await plane.store.create(Worker, {
    apiVersion,
    kind: "Worker",
    metadata: worker,
    spec: { buildRef: 1 },
  });
  await plane.ask("POST", "/api/build/1/cancel");
  await expect.poll(() => engine.asked.filter(({ method }) => method === "DELETE").length).toBeGreaterThan(0);
  expect(await get("b")).toMatchObject({ spec: { cancel: true }, status: { status: "Scheduling" } });
  await plane.store.delete({ type: Worker, ...worker });
  await eventually("b").toMatchObject({ status: { status: "Failed", reason: "Canceled" } });
});

test("a worker that comes for a build that was canceled meanwhile is ended, and one that goes already is let go", async () => {
  await createProject();
  await createBuild("b");
  await eventually("b").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-1" } });
  await plane.ask("POST", "/api/build/1/cancel");
  // Nobody knows of a worker: there is none to be waited for.
  await eventually("b").toMatchObject({ status: { status: "Failed", reason: "Canceled" } });
  const ends = () => engine.asked.filter(({ method }) => method === "DELETE").length;
  const before = ends();
  const worker = { namespace, name: "wharf-cmd-worker-local-1" };
  const finalizers = ["wharf.slipway.dev/worker"];
  await plane.store.create(Worker, {
    apiVersion,
    kind: "Worker",
    metadata: { ...worker, finalizers },
    spec: { buildRef: 1 },
  });
  await expect.poll(ends).toBe(before + 1);
  expect(engine.asked.at(-1)).toMatchObject({ method: "DELETE", parameters: { ignoreMissing: "1" } });
  await plane.store.delete({ type: Worker, ...worker });
  // By then the news of the worker has come, too.
  await createBuild("c");
  await eventually("c").toMatchObject({ status: { workerId: "wharf-cmd-worker-local-2" } });
  expect(ends()).toBe(before + 1);
});

test("a deleted build goes with its worker and its results, also when the worker is gone already", async () => {
  await createProject();
  await createBuild("b");
  await eventually("b").toMatchObject({ status: { workerId: expect.any(String) } });
  await plane.store.delete({ type: Build, namespace, name: "b" });
  await eventually("b").toContain("not found");
  expect(engine.asked.at(-1)).toMatchObject({ method: "DELETE", parameters: { force: "1", ignoreMissing: "1" } });
  expect(plane.removed).toEqual([1]);
  await createBuild("c");
  await eventually("c").toMatchObject({ status: { workerId: expect.any(String) } });
  engine.refusal = { status: 404, body: "" };
  await plane.store.delete({ type: Build, namespace, name: "c" });
  await eventually("c").toContain("not found");
  expect(plane.removed).toEqual([1, 2]);
});

test("a build that somebody else starts is left to him for a moment", async () => {
  await createProject();
  await plane.store.create(Build, {
    apiVersion,
    kind: "Build",
    metadata: { namespace, name: "build-5", annotations: { "wharf.slipway.dev/started-by": "wharf-api" } },
    spec: { project: "web", stage: "ALL", buildId: 5 },
  });
  await eventually("build-5").toMatchObject({ status: { status: "Scheduling" } });
  expect(engine.asked).toEqual([]);
});
