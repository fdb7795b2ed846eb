import { afterAll, beforeAll, expect, test } from "vitest";
import { jobs, types, WorkflowPlane, workflows } from "./control-plane.ts";

// Limits as clients of the API see them: what they may write, what they are told, and that the control plane keeps to it.

let plane: WorkflowPlane;
beforeAll(async () => {
  plane = await WorkflowPlane.start();
});
afterAll(() => plane.close());

const limits = "/apis/slipway.dev/v1alpha1/namespaces/default/concurrencylimits";
const limit = (name: string, spec: object) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "ConcurrencyLimit",
  metadata: { name },
  spec,
});

const step = (...locks: string[]) => ({
  container: { image: "busybox", command: ["true"] },
  locks: locks.map((name) => ({ name })),
});

test("a limit is a number of places, at least one and at most a thousand", async () => {
  for (const [places, message] of [
    [0, "greater than or equal to 1"],
    [1_001, "less than or equal to 1000"],
    ["two", "integer"],
  ] as const) {
    const answer = await plane.api.ask("POST", limits, { body: limit("bad", { limit: places }) });
    expect({ status: answer.status, text: answer.text }).toMatchObject({
      status: 422,
      text: expect.stringContaining(message),
    });
  }
});

test("a status that is sent along is dropped, and holders are not given by who writes the limit", async () => {
  const holders = [{ uid: "u", name: "w", runNumber: 1, since: "2026-01-01T00:00:00Z" }];
  const body = { ...limit("sent", { limit: 2 }), status: { holders, held: 1 } };
  expect((await plane.api.ask("POST", limits, { body })).status).toBe(201);
  await plane.settle();
  expect((await plane.get(`${limits}/sent`))["status"]).toBeUndefined();
});

test("who holds a lock stands in its limit, and what waits in its workflow; a larger limit lets more in", async () => {
  for (const name of ["one", "two", "three"]) {
    await plane.create(name, { steps: { a: step("db") } });
    // Ages are whole seconds; within one the uid decides.
    await plane.pass(1_000);
  }
  const held = await plane.get(`${limits}/db`);
  expect(held).toMatchObject({
    metadata: { labels: { "slipway.dev/implicit": "true" }, finalizers: ["slipway.dev/holders"] },
    spec: { limit: 1 },
    status: { held: 1, holders: [{ name: "one", step: "a", runNumber: 1 }] },
  });
  expect(await plane.phases("two")).toEqual({ a: "Waiting/Lock" });
  const answer = await plane.api.ask("PATCH", `${limits}/db`, { body: { spec: { limit: 2 } }, headers: types.merge });
  expect(answer.status).toBe(200);
  await plane.settle();
  expect(await plane.phases("two")).toEqual({ a: "Starting" });
  expect(await plane.phases("three")).toEqual({ a: "Waiting/Lock" });
});

test("bad names of locks are refused with their places", async () => {
  const answer = await plane.api.ask("POST", workflows, {
    body: {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "bad" },
      spec: { priority: 2_000, steps: { a: step("Data Base", "db", "db") } },
    },
  });
  expect(answer.status).toBe(422);
  for (const place of ["spec.priority", "spec.steps.a.locks"]) expect(answer.text).toContain(place);
});

test("a workflow waits for its turn as Pending with its place, and CancelNew does not run", async () => {
  const spec = { steps: { a: step() }, concurrency: { key: "prod" } };
  for (const name of ["first", "second", "third"]) {
    const onConflict = name === "third" ? { onConflict: "CancelNew" } : {};
    await plane.create(name, { ...spec, concurrency: { ...spec.concurrency, ...onConflict } });
    await plane.pass(1_000);
  }
  expect(await plane.status("second")).toMatchObject({
    phase: "Pending",
    reason: "Queued",
    message: 'concurrency key "prod" is held by first; place 1 in the queue',
  });
  expect(await plane.status("third")).toMatchObject({ phase: "Canceled" });
  const body = { spec: { concurrency: { key: "other" } } };
  const answer = await plane.api.ask("PATCH", `${workflows}/second`, { body, headers: types.merge });
  expect({ status: answer.status, text: answer.text }).toMatchObject({
    status: 422,
    text: expect.stringContaining("spec.concurrency"),
  });
  await plane.endPods();
  expect((await plane.status("first"))["phase"]).toBe("Succeeded");
  expect((await plane.status("second"))["phase"]).toBe("Running");
});

test("two controllers at once give a lock no more than its places", async () => {
  const two = await WorkflowPlane.start();
  try {
    await two.control();
    const names = ["w1", "w2", "w3", "w4"];
    for (const name of names) await two.create(name, { steps: { a: step("one"), b: step("one") } });
    for (let round = 0; round < 30; round++) {
      const active = (await two.list(jobs)).filter(({ status }) => !JSON.stringify(status ?? {}).includes("Complete"));
      expect(active.length).toBeLessThanOrEqual(1);
      const phases = await Promise.all(names.map(async (name) => (await two.status(name))["phase"]));
      if (phases.every((phase) => String(phase) === "Succeeded")) return;
      await two.endPods();
    }
    throw new Error("the workflows do not come to their end");
  } finally {
    await two.close();
  }
});
