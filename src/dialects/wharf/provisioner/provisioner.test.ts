import { afterEach, describe, expect, test } from "vitest";
import { Secret } from "#kernel/model/index.ts";
import { Build, Worker } from "../kinds.ts";
import { Place } from "./testing/place.ts";

let place: Place;
const begin = async (settings: ConstructorParameters<typeof Place>[0] = {}) => {
  place = new Place(settings);
  await place.start();
  return place;
};
afterEach(() => place.stop());

const name = (build: number) => `wharf-cmd-worker-local-${build}`;
const started = () => place.backend.started.map(({ worker }) => worker);

describe("asking for a worker", () => {
  test("stores it, and starts it then", async () => {
    await begin();
    const { status, body } = await place.post({ BUILD_REF: "7", WHARF_PROJECT_ID: "3", GIT_BRANCH: "b", token: "x" });
    expect(status).toBe(201);
    expect(body).toEqual({
      workerId: name(7),
      name: `default/${name(7)}`,
      status: "Scheduling",
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      buildId: 7,
      projectId: 3,
      instance: "local",
      runtime: "",
      address: "",
      finishedAt: null,
      message: "",
    });
    await expect.poll(started).toEqual([name(7)]);
    expect(place.backend.started[0]?.request).toMatchObject({ buildRef: 7, projectId: 3, branch: "b" });
    await expect
      .poll(async () => (await place.ask("GET", `/api/worker/${name(7)}`)).body)
      .toMatchObject({ status: "Initializing", runtime: "host" });
  });

  test("twice, or twenty times at once, for one build is asking for one", async () => {
    await begin();
    const all = await Promise.all(Array.from({ length: 20 }, () => place.post({ BUILD_REF: "7", GIT_TOKEN: "t" })));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(all.filter(({ status }) => status === 200)).toHaveLength(19);
    expect((await place.post({ BUILD_REF: "7" })).status).toBe(200);
    expect(await place.workers()).toHaveLength(1);
    await expect.poll(started).toEqual([name(7)]);
    // Of those that came second nothing is left.
    const { items } = await place.store.list(Secret);
    expect(items.length).toBeLessThanOrEqual(1);
  });

  test("without a build is asking for a new one each time", async () => {
    await begin();
    expect([(await place.post({})).status, (await place.post({ BUILD_REF: "0" })).status]).toEqual([201, 201]);
    expect(await place.workers()).toHaveLength(2);
  });

  test("in the query, in a form and as JSON", async () => {
    await begin();
    const url = "https://example.org/a.git";
    const form = new URLSearchParams({ GIT_FULLURL: url, BUILD_REF: "2", VARS: "a: 1" });
    expect((await place.ask("POST", "/api/worker", form)).status).toBe(201);
    const json = JSON.stringify({ GIT_FULLURL: url, BUILD_REF: 3, VARS: { a: 1.5, b: true } });
    expect((await place.ask("POST", "/api/worker?BUILD_REF=9", json, "application/json")).status).toBe(201);
    await expect.poll(started).toEqual([name(2), name(3)]);
    expect(place.backend.started.map(({ request }) => request.inputs)).toEqual([{ a: "1" }, { a: "1.5", b: "true" }]);
  });

  test("for what cannot be done is refused, with everything that is wrong", async () => {
    await begin();
    const { status, body } = await place.post({ GIT_FULLURL: "", BUILD_REF: "abc", VARS: "[]" });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: "/prob/api/missing-param-string",
      errors: [
        "GIT_FULLURL: expected the address of a repository",
        expect.stringContaining("BUILD_REF: "),
        expect.stringContaining("VARS: "),
      ],
    });
    expect((await place.post({ GIT_FULLURL: "--upload-pack=touch x" })).status).toBe(400);
    expect((await place.post({ BUILD_REF: "-1" })).body).toMatchObject({ type: "/prob/api/invalid-param-uint" });
    expect((await place.ask("POST", "/api/worker", "{", "application/json")).status).toBe(400);
    expect((await place.ask("POST", "/api/worker", "[1]", "application/json")).status).toBe(400);
    const large = await place.ask("POST", "/api/worker", "x".repeat(1_100_000), "application/json");
    expect(large.status).toBe(413);
    expect(await place.workers()).toEqual([]);
    expect((await place.store.list(Secret)).items).toEqual([]);
  });

  test("and refused does not repeat what stands in the query", async () => {
    await begin();
    const query = new URLSearchParams({
      BUILD_REF: "abc",
      VARS: "{pw: hunter2}",
      GIT_TOKEN: "hunter2",
      token: "hunter2",
    });
    const { status, body } = await place.ask("POST", `/api/worker?${query.toString()}`);
    expect([status, body]).toMatchObject([400, { instance: "/api/worker" }]);
    expect(JSON.stringify(body)).not.toContain("hunter2");
  });

  test("puts secret parameters where workers are not listed, until their program has read them", async () => {
    await begin();
    await place.post({
      BUILD_REF: "7",
      VARS: '{"password": "hunter2"}',
      GIT_TOKEN: "hunter2",
      ADDITIONAL_VARS: '{"A": "hunter2"}',
      token: "hunter2",
      GIT_FULLURL: "https://me:hunter2@example.org/a.git",
    });
    expect(JSON.stringify(await place.workers())).not.toContain("hunter2");
    expect(place.logged.join("\n")).not.toContain("hunter2");
    await expect.poll(started).toEqual([name(7)]);
    expect(place.backend.started[0]?.request).toMatchObject({
      token: "hunter2",
      inputs: { password: "hunter2" },
      variables: { A: "hunter2" },
      source: { url: "https://example.org/a.git", user: "me", password: "hunter2" },
    });
    expect((await place.store.list(Secret)).items).toHaveLength(1);
    place.backend.become(name(7), { phase: "running", status: "Running" });
    await expect.poll(async () => (await place.store.list(Secret)).items).toEqual([]);
  });

  test("for a build that is stored makes the worker go with it", async () => {
    await begin();
    const metadata = { name: "build-7", namespace: "default" };
    const build = await place.store.create<Build>(Build, {
      apiVersion: "wharf.slipway.dev/v1alpha1",
      kind: "Build",
      metadata,
      spec: { project: "p", stage: "ALL" },
    });
    await place.post({ BUILD_REF: "7" });
    await place.post({ BUILD_REF: "7", WHARF_INSTANCE: "other" });
    const owners = (await place.workers()).map(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.map(({ uid }) => uid),
    );
    expect(owners).toEqual([[build.metadata.uid], []]);
  });
});

test("workers are listed oldest first, and by build and status", async () => {
  await begin();
  for (const build of ["9", "10", "2"]) {
    await place.post({ BUILD_REF: build });
    await place.clock.advance(1000);
  }
  await expect.poll(() => started().length).toBe(3);
  place.backend.become(name(10), { phase: "running", status: "Running" });
  const list = async (query = "") => (await place.ask("GET", `/api/worker${query}`)).body as { buildId: number }[];
  const builds = async (query = "") => (await list(query)).map(({ buildId }) => buildId);
  expect(await builds()).toEqual([9, 10, 2]);
  await expect.poll(() => builds("?status=running")).toEqual([10]);
  expect(await builds("?status=Running&status=Initializing")).toEqual([9, 10, 2]);
  expect(await builds("?buildRef=2")).toEqual([2]);
  expect(await place.ask("GET", "/api/worker?buildRef=x")).toMatchObject({ status: 400 });
  expect(await place.ask("GET", "/api/worker/nope")).toMatchObject({
    status: 404,
    body: { type: "/prob/api/record-not-found" },
  });
  const [first] = await place.workers();
  expect(await place.ask("GET", `/api/worker/${first?.metadata.uid}`)).toMatchObject({ status: 200 });
  // Of a Pod or container also by its own id.
  place.backend.become(first?.metadata.name ?? "", { runtimeId: "c0ffee" });
  await expect.poll(() => place.ask("GET", "/api/worker/c0ffee")).toMatchObject({ status: 200 });
});

test("as many builds are at work as may be, the oldest first", async () => {
  await begin({ maxWorkers: 2 });
  for (const build of ["4", "3", "2", "1"]) {
    await place.post({ BUILD_REF: build });
    await place.clock.advance(1000);
  }
  await expect.poll(started).toEqual([name(4), name(3)]);
  await expect
    .poll(async () => (await place.ask("GET", `/api/worker/${name(2)}`)).body)
    .toMatchObject({ status: "Scheduling", message: "waiting: 2 builds run at most at once" });
  place.backend.become(name(3), { phase: "finished", status: "Success", finishedAt: place.clock.now() });
  await expect.poll(started).toEqual([name(4), name(3), name(2)]);
  await place.ask("DELETE", `/api/worker/${name(4)}?force=1`);
  await expect.poll(started).toEqual([name(4), name(3), name(2), name(1)]);
});

describe("deleting a worker", () => {
  test("cancels it, serves what it has left for a while, and removes it", async () => {
    await begin();
    await place.post({ BUILD_REF: "7" });
    await expect.poll(started).toEqual([name(7)]);
    place.backend.become(name(7), { phase: "running", status: "Running" });
    expect((await place.ask("DELETE", `/api/worker/${name(7)}`)).status).toBe(204);
    await expect.poll(() => place.backend.ended).toContain(`cancel ${name(7)}`);
    place.backend.become(name(7), { phase: "finished", status: "Cancelled", finishedAt: place.clock.now() });
    await expect
      .poll(async () => (await place.ask("GET", `/api/worker/${name(7)}`)).body)
      .toMatchObject({ status: "Cancelled" });
    expect((await place.post({ BUILD_REF: "7" })).status).toBe(200);
    await place.clock.advance(30_000);
    expect(place.backend.removed).toEqual([]);
    await place.clock.advance(31_000);
    await expect.poll(() => place.backend.removed).toEqual([name(7)]);
    await expect.poll(() => place.workers()).toEqual([]);
    expect(await place.ask("DELETE", `/api/worker/${name(7)}`)).toMatchObject({ status: 404 });
    expect(await place.ask("DELETE", `/api/worker/${name(7)}?ignoreMissing=1`)).toMatchObject({ status: 204 });
    expect((await place.post({ BUILD_REF: "7" })).status).toBe(201);
  });

  test("that has ended and does not answer for a moment is not killed: it serves what it has left", async () => {
    await begin();
    await place.post({ BUILD_REF: "7" });
    await expect.poll(started).toEqual([name(7)]);
    const finishedAt = place.clock.now();
    const told = { phase: "finished", status: "Cancelled", address: "pod://a/b:1", finishedAt } as const;
    place.backend.become(name(7), told);
    const shown = async () => (await place.ask("GET", `/api/worker/${name(7)}`)).body;
    await expect.poll(shown).toMatchObject({ status: "Cancelled" });
    await place.ask("DELETE", `/api/worker/${name(7)}`);
    // A Pod is asked for its build, and says nothing at the moment.
    place.backend.become(name(7), { phase: "starting", status: "Running", address: undefined, finishedAt: undefined });
    await place.clock.advance(40_000);
    place.backend.become(name(7), {});
    await place.clock.advance(10_000);
    expect(place.backend.ended).toEqual([]);
    expect(await shown()).toMatchObject({ status: "Cancelled", address: "pod://a/b:1" });
    await place.clock.advance(11_000);
    await expect.poll(() => place.backend.ended).toContain(`terminate ${name(7)}`);
  });

  test("with force ends it at once", async () => {
    await begin();
    await place.post({ BUILD_REF: "7" });
    await expect.poll(started).toEqual([name(7)]);
    expect((await place.ask("DELETE", `/api/worker/${name(7)}?force=1`)).status).toBe(204);
    await expect.poll(() => place.backend.ended).toContain(`terminate ${name(7)}`);
    await place.clock.advance(1000);
    await expect.poll(() => place.workers()).toEqual([]);
  });
});

describe("a provisioner that begins anew", () => {
  test("starts what was promised and not started", async () => {
    await begin();
    await place.stop();
    const object = { apiVersion: "wharf.slipway.dev/v1alpha1", kind: "Worker" } as const;
    await place.store.create<Worker>(Worker, {
      ...object,
      metadata: { name: "by-hand", namespace: "default" },
      spec: { args: { GIT_FULLURL: "git@example.org:a/b.git" } },
    });
    await place.start();
    await expect.poll(started).toEqual(["by-hand"]);
    expect((await place.workers())[0]?.metadata.finalizers).toEqual(["wharf.slipway.dev/worker"]);
  });

  test("says so when a worker has gone without a trace, and does not start it again", async () => {
    await begin();
    await place.post({ BUILD_REF: "7" });
    await expect.poll(async () => (await place.workers())[0]?.status?.process).toBeDefined();
    await place.stop();
    await place.backend.remove({ namespace: "default", name: name(7), uid: "" });
    await place.start();
    const message = "the worker has disappeared from where it ran";
    await expect.poll(async () => (await place.workers())[0]?.status).toMatchObject({ status: "Failed", message });
    expect(started()).toEqual([name(7)]);
  });

  test("refuses a worker that nobody could start", async () => {
    await begin();
    const object = { apiVersion: "wharf.slipway.dev/v1alpha1", kind: "Worker" } as const;
    await place.store.create<Worker>(Worker, {
      ...object,
      metadata: { name: "bad", namespace: "default" },
      spec: { args: { GIT_FULLURL: "ext::x" } },
    });
    await place.store.create<Worker>(Worker, {
      ...object,
      metadata: { name: "lost", namespace: "default" },
      spec: { args: { GIT_FULLURL: "https://example.org/a" }, secretName: "gone" },
    });
    await expect
      .poll(async () => (await place.workers()).map(({ status }) => `${status?.status} ${status?.message}`))
      .toEqual([expect.stringMatching(/^Failed GIT_FULLURL: /), "Failed its Secret gone does not exist"]);
    expect(started()).toEqual([]);
  });
});
