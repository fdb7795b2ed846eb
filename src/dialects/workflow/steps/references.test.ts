import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { ApiError, controllerOf, Job, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import { Workflow } from "../kinds.ts";
import { Harness, type HarnessOptions, job, namespace, Thing } from "../testing/harness.ts";

let open: Harness | undefined;
function start(options?: HarnessOptions): Harness {
  open = new Harness(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const workflowRef = { type: Workflow, namespace, name: "wf" };
const thingRef = { type: Thing, namespace, name: "t" };
const thing = (status?: JsonObject): KubeObject => ({
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name: "t", namespace },
  ...(status === undefined ? {} : { status }),
});
const conditions = (type: string, status = "True") => ({
  conditions: [{ type, status, reason: "Told", message: "by the thing" }],
});
async function setStatus(run: Harness, status: JsonObject): Promise<void> {
  await run.store.patch(thingRef, { type: "merge", body: { status } }, { subresource: "status" });
  await run.settle();
}
const waitsForThing = { steps: { ref: { externalRef: { apiVersion: "example.com/v1", kind: "Thing", name: "t" } } } };

test("a reference to a running Workflow completes with it", async () => {
  const run = start();
  await run.create({ steps: { inner: job() } }, "other");
  await run.create({
    steps: { ref: { externalRef: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "other" } } },
  });
  expect(await run.phases()).toEqual({ ref: "Running" });
  expect((await run.status()).statuses?.["ref"]?.reference).toMatchObject({
    name: "other",
    uid: (await run.workflow("other")).metadata.uid,
  });
  await run.end("inner");
  expect((await run.status()).phase).toBe("Succeeded");
});

test("a reference to something that comes later waits for it", async () => {
  const run = start();
  await run.create(waitsForThing);
  expect(await run.phases()).toEqual({ ref: "Waiting/ReferenceNotFound" });
  await run.store.create(Thing, thing());
  await run.settle();
  expect(await run.phases()).toEqual({ ref: "Running" });
  await setStatus(run, conditions("Complete"));
  expect(await run.phases()).toEqual({ ref: "Succeeded" });
});

test("a reference to what is finished already succeeds at once", async () => {
  const run = start();
  await run.store.create(Thing, thing());
  await setStatus(run, conditions("Succeeded"));
  await run.create(waitsForThing);
  expect((await run.status()).phase).toBe("Succeeded");
});

test.each([
  ["Succeeded", "True", "Succeeded"],
  ["Succeeded", "False", "Failed/Told"],
  ["Failed", "True", "Failed/Told"],
])("a foreign kind with only the condition %s %s is understood", async (type, status, phase) => {
  const run = start();
  await run.store.create(Thing, thing());
  await run.create(waitsForThing);
  await setStatus(run, conditions(type, status));
  expect(await run.phases()).toEqual({ ref: phase });
  if (phase !== "Succeeded") expect((await run.status()).statuses?.["ref"]?.message).toBe("by the thing");
});

test("a referenced object that is deleted fails its step, and so does one that is replaced", async () => {
  const run = start();
  await run.store.create(Thing, thing());
  await run.create(waitsForThing);
  await run.store.delete(thingRef);
  await run.store.create(Thing, thing());
  await run.settle();
  expect(await run.phases()).toEqual({ ref: "Failed/ReferenceDeleted" });
  await run.create(waitsForThing, "second");
  await run.store.delete(thingRef);
  await run.settle();
  expect(await run.phases("second")).toEqual({ ref: "Failed/ReferenceDeleted" });
});

test("a kind that does not exist is waited for, and given up after ten minutes", async () => {
  const run = start();
  const externalRef = { apiVersion: "nobody.example/v1", kind: "Ghost", name: "g" };
  await run.create({
    steps: { ref: { externalRef }, made: { template: { apiVersion: "nobody.example/v1", kind: "Ghost" } } },
  });
  expect(await run.phases()).toEqual({ ref: "Waiting/KindNotFound", made: "Waiting/KindNotFound" });
  await run.pass(590_000);
  expect(await run.phases()).toMatchObject({ ref: "Waiting/KindNotFound" });
  await run.pass(90_000);
  expect(await run.phases()).toEqual({ ref: "Failed/KindNotFound", made: "Failed/KindNotFound" });
});

test("a reference is not active: it takes no slot, and a cancel leaves its object alone", async () => {
  const run = start();
  await run.store.create(Thing, thing());
  await run.create({ parallelism: 1, steps: { ...waitsForThing.steps, a: job() } });
  expect(await run.active()).toEqual(["a"]);
  await run.act("cancel");
  expect(await run.phases()).toEqual({ a: "Canceled/RunCanceled", ref: "Canceled/RunCanceled" });
  expect((await run.store.get(thingRef)).metadata.deletionTimestamp).toBeUndefined();
});

const template = { apiVersion: "example.com/v1", kind: "Thing", spec: { size: "${{ params.size }}" } };
const withTemplate = {
  params: [{ name: "size", type: "integer" as const }],
  arguments: { size: 3 },
  steps: { make: { template, outputs: { url: { expression: "object.status.url" }, plain: {} } } },
};

test("any resource can be a step: created as written, owned, observed, its results taken", async () => {
  const run = start();
  const { metadata } = await run.create(withTemplate);
  const [made] = (await run.store.list(Thing, { namespace })).items;
  expect(made).toMatchObject({ spec: { size: 3 }, metadata: { labels: { "slipway.dev/step": "make" } } });
  expect(made === undefined ? undefined : controllerOf(made)?.uid).toBe(metadata.uid);
  const status = { ...conditions("Complete"), url: "http://x", outputs: { plain: 7 } };
  await run.store.patch(
    { type: Thing, namespace, name: made?.metadata.name ?? "" },
    { type: "merge", body: { status } },
    { subresource: "status" },
  );
  await run.settle();
  expect(await run.status()).toMatchObject({
    phase: "Succeeded",
    statuses: { make: { outputs: { url: "http://x", plain: 7 } } },
  });
});

test("an Independent child has no owner and outlives cancel and deletion", async () => {
  const run = start();
  await run.create({
    steps: {
      make: {
        ownership: "Independent",
        template: { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" } },
      },
    },
  });
  expect((await run.store.get(thingRef)).metadata.ownerReferences).toBeUndefined();
  await run.act("cancel");
  expect(await run.phases()).toEqual({ make: "Canceled/RunCanceled" });
  await run.store.delete({ type: Workflow, namespace, name: "wf" });
  await run.pass(1_000);
  expect(await run.exists()).toBe(false);
  expect(await run.store.get(thingRef)).toBeDefined();
});

test("a step says itself when its object is done", async () => {
  const run = start();
  const make = (completion: unknown, name: string) => ({
    completion: JSON.parse(JSON.stringify(completion)),
    template: { apiVersion: "example.com/v1", kind: "Thing", metadata: { name } },
  });
  await run.create({
    steps: {
      created: make("Created", "c"),
      ready: make("Ready", "r"),
      good: make({ success: 'object.status.level == "high"' }, "t"),
    },
  });
  expect(await run.phases()).toMatchObject({ created: "Succeeded", ready: "Running", good: "Running" });
  await setStatus(run, { level: "low" });
  expect(await run.phases()).toMatchObject({ good: "Running" });
  await setStatus(run, { level: "high" });
  expect(await run.phases()).toMatchObject({ good: "Succeeded" });
});

test("the condition of failure is asked first", async () => {
  const run = start();
  const completion = { success: "true", failure: "object.status.broken" };
  await run.create({
    steps: { a: { completion, template: { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" } } } },
  });
  expect(await run.phases()).toEqual({ a: "Succeeded" });
  await run.store.delete(thingRef);
  await run.store.create(Thing, thing());
  await setStatus(run, { broken: true });
  await run.create({ steps: { a: { completion, externalRef: waitsForThing.steps.ref.externalRef } } }, "second");
  expect(await run.phases("second")).toEqual({ a: "Failed/FailureCondition" });
});

/** A server that refuses to create Jobs in this way until told otherwise. */
function refusing(error: () => ApiError | undefined): HarnessOptions {
  return {
    wrap: (store) =>
      new Proxy(store, {
        get(target, name) {
          if (name === "create")
            return async (...args: Parameters<typeof store.create>) => {
              const refusal = args[0].kind === Job.kind ? error() : undefined;
              if (refusal !== undefined) throw refusal;
              return await target.create(...args);
            };
          const value: unknown = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
  };
}

/** A client that may neither list nor watch things for as long as it is told so. */
const unwatchable = (isRefused: () => boolean): HarnessOptions => ({
  wrap: (store) =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "list" && name !== "watch") return value.bind(target) as unknown;
        return (type: ResourceType, ...rest: readonly unknown[]) => {
          if (type.kind === Thing.kind && isRefused())
            throw new ApiError("Forbidden", 'User "controllers" cannot watch resource "things"');
          return (value as (...given: readonly unknown[]) => unknown).call(target, type, ...rest);
        };
      },
    }),
});

test("a step whose kind the controllers may not watch says which right is missing, and begins when it is given", async () => {
  let isRefused = true;
  const run = start(unwatchable(() => isRefused));
  const template = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" } };
  await run.create({ steps: { made: { template }, ...waitsForThing.steps } });
  expect(await run.phases()).toEqual({ made: "Waiting/Forbidden", ref: "Waiting/Forbidden" });
  const message = 'User "controllers" cannot watch resource "things"';
  expect((await run.status()).statuses).toMatchObject({ made: { message }, ref: { message } });
  isRefused = false;
  await run.pass(60_000);
  expect(await run.phases()).toEqual({ made: "Running", ref: "Running" });
});

test("a step whose kind may not be watched fails after ten minutes, where no deadline would end it", async () => {
  const run = start(unwatchable(() => true));
  await run.create(waitsForThing);
  await run.pass(11 * 60_000);
  expect(await run.phases()).toEqual({ ref: "Failed/Forbidden" });
});

test("a workflow whose kinds may not be watched, and of which nothing was ever made, can be deleted", async () => {
  const run = start(unwatchable(() => true));
  const made = { template: { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" } } };
  const items = { ...made, forEach: { items: ["x", "y"] } };
  await run.create({ steps: { made, items, other: job() } }, "waiting");
  await run.create({ steps: { made } }, "failed");
  await run.pass(11 * 60_000);
  expect(await run.phases("failed")).toEqual({ made: "Failed/Forbidden" });
  for (const name of ["waiting", "failed"]) {
    await run.store.delete({ type: Workflow, namespace, name });
    await run.pass(10_000);
    expect(await run.exists(name)).toBe(false);
  }
  expect(run.reasons()).not.toContain("CleanupFailed");
});

test("an invalid workflow with a kind that may not be watched can be cancelled", async () => {
  const run = start(unwatchable(() => true));
  const made = { template: { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" } } };
  await run.create({ steps: { made, a: job({ dependencies: ["nobody"] }) } });
  await run.act("cancel");
  expect(await run.status()).toMatchObject({ phase: "Canceled" });
});

/** A deleted workflow with a child of a kind that may be watched no more since the program began anew. */
async function deletedUnseen(isRefused: () => boolean) {
  const first = start();
  await first.create({
    steps: { made: { template: { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" } } } },
  });
  // That a child came alive is written a little later.
  await first.pass(10_000);
  expect(await first.phases()).toEqual({ made: "Running" });
  await first.close();
  const { store, clock } = first;
  const run = start({ ...unwatchable(isRefused), store, clock });
  await run.store.delete(workflowRef);
  await run.pass(60_000);
  return run;
}

test("a child that was seen and may not be watched any more holds its deleted workflow, which is told once, until the right is given", async () => {
  let isRefused = true;
  const run = await deletedUnseen(() => isRefused);
  expect(await run.exists()).toBe(true);
  expect(run.events.filter(({ reason }) => reason === "CleanupFailed")).toEqual([
    expect.objectContaining({ note: expect.stringContaining('User "controllers" cannot watch resource "things"') }),
  ]);
  isRefused = false;
  await run.pass(60_000);
  expect(await run.exists()).toBe(false);
  expect(await run.store.list(Thing, { namespace })).toMatchObject({ items: [] });
});

test("a deleted workflow whose children cannot be seen is let go by hand", async () => {
  const run = await deletedUnseen(() => true);
  const annotations = { "slipway.dev/abandon": "true" };
  await run.store.patch(workflowRef, { type: "merge", body: { metadata: { annotations } } });
  await run.settle();
  expect(await run.exists()).toBe(false);
});

test("an exceeded quota makes a step wait, at no cost of attempts", async () => {
  let full = true;
  const run = start(
    refusing(() => (full ? new ApiError("Forbidden", 'jobs "x" is forbidden: exceeded quota: q') : undefined)),
  );
  await run.create({ steps: { a: job() } });
  expect(await run.phases()).toEqual({ a: "Waiting/Quota" });
  await run.pass(10_000);
  expect(await run.phases()).toEqual({ a: "Waiting/Quota" });
  expect(run.reasons()).toContain("QuotaWaiting");
  full = false;
  await run.pass(60_000);
  await run.end("a");
  expect(await run.status()).toMatchObject({ phase: "Succeeded", statuses: { a: { attempt: 1 } } });
  expect(run.reasons().filter((reason) => reason === "StepStarted")).toHaveLength(1);
});

test("any other refusal of rights fails the step", async () => {
  const run = start(refusing(() => new ApiError("Forbidden", "you may not")));
  await run.create({ steps: { a: job({ retry: { limit: 3 } }) } });
  expect(await run.phases()).toEqual({ a: "Failed/Forbidden" });
});

test("a busy or broken server is asked again, at no cost of attempts", async () => {
  let left = 3;
  const run = start(refusing(() => (left-- > 0 ? new ApiError("TooManyRequests", "later") : undefined)));
  await run.create({ steps: { a: job() } });
  await run.pass(5_000);
  await run.end("a");
  expect(await run.status()).toMatchObject({ phase: "Succeeded", statuses: { a: { attempt: 1 } } });
});
