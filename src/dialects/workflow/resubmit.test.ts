import { afterEach, beforeEach, expect, test } from "vitest";
import { Workflow, type WorkflowSpec } from "./kinds.ts";
import { resubmission } from "./resubmit.ts";
import { Harness, job, namespace } from "./testing/harness.ts";

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.close());

const script = (command: string) => ({ container: { image: "i", command: ["sh", "-c", command] } });

const spec = (more: Partial<WorkflowSpec> = {}): WorkflowSpec => ({
  params: [{ name: "tag", default: "1" }],
  steps: {
    build: { ...script("build"), outputs: { image: {} } },
    scan: { ...script("scan"), dependencies: ["build"] },
    deploy: { ...script("deploy ${{ params.tag }}"), dependencies: ["build"] },
  },
  ...more,
});

/** Submits the run called wf again and lets it begin. */
async function again(change: Partial<WorkflowSpec> = {}, reuse = true): Promise<string> {
  const { metadata, ...object } = resubmission(await harness.workflow(), { reuse });
  const { generateName: _completed, ...rest } = metadata;
  const next = { ...object, metadata: { ...rest, name: "again" }, spec: { ...(object["spec"] as object), ...change } };
  await harness.store.create(Workflow, next);
  await harness.settle();
  return "again";
}

test("a run of a schedule is submitted again for the time it was made for, and is not the schedule's", async () => {
  const { metadata, ...run } = await harness.create(spec());
  const time = { "slipway.dev/scheduled-at": "2026-01-01T00:00:00Z" };
  const ownerReferences = [{ apiVersion: "slipway.dev/v1alpha1", kind: "ScheduledWorkflow", name: "tick", uid: "1" }];
  const object = resubmission(
    { ...run, metadata: { ...metadata, annotations: time, ownerReferences } },
    { reuse: false },
  );
  expect(object.metadata.annotations).toMatchObject(time);
  expect(object.metadata.ownerReferences).toBeUndefined();
});

test("a child that is submitted again is no child of the step that made the first one", async () => {
  const { metadata, ...run } = await harness.create(spec());
  const ours = { "slipway.dev/workflow-uid": "1", "slipway.dev/step": "part", "slipway.dev/depth": "9" };
  const object = resubmission({ ...run, metadata: { ...metadata, labels: { ...ours, team: "a" } } }, { reuse: false });
  expect(object.metadata.labels).toEqual({ team: "a" });
});

test("a resubmitted run has the specification and none of the past", async () => {
  await harness.create({ ...spec(), suspend: true });
  const object = resubmission(await harness.workflow(), { reuse: false });
  expect(object.metadata).toEqual({
    generateName: "wf-",
    namespace,
    annotations: { "slipway.dev/resubmitted-from": "wf" },
  });
  expect(object["spec"]).toEqual(spec());
  expect(object["status"]).toBeUndefined();
});

test("with reuse only what failed runs again, with the outputs of what did not", async () => {
  await harness.create(spec());
  await harness.end("build", { message: "image=app:7" });
  await harness.end("scan");
  await harness.end("deploy", { exitCode: 1 });
  const name = await again();
  expect(await harness.phases(name)).toEqual({
    build: "Succeeded/Reused",
    scan: "Succeeded/Reused",
    deploy: "Starting",
  });
  const { statuses = {} } = await harness.status(name);
  expect(statuses["build"]).toMatchObject({ outputs: { image: "app:7" }, complete: true, message: "as in wf" });
});

test("a step with another input runs, and with it what depends on it", async () => {
  await harness.create(spec());
  await harness.end("build", { message: "image=app:7" });
  await harness.end("scan");
  await harness.end("deploy");
  await again({ arguments: { tag: "2" } });
  expect(await harness.phases("again")).toMatchObject({ build: "Succeeded/Reused", deploy: "Starting" });
});

test("a step whose definition changed runs, and so does everything behind it", async () => {
  await harness.create(spec());
  await harness.end("build", { message: "image=app:7" });
  await harness.end("scan");
  await harness.end("deploy");
  await again({ steps: { ...spec().steps, build: { ...script("build --all"), outputs: { image: {} } } } });
  expect(await harness.phases("again")).toEqual({ build: "Starting" });
});

test("what was reused once can be reused again", async () => {
  await harness.create({ steps: { a: script("a"), b: { ...script("b"), dependencies: ["a"] } } });
  await harness.end("a");
  await harness.end("b", { exitCode: 1 });
  await again();
  const object = resubmission(await harness.workflow("again"), { reuse: true });
  const { generateName: _completed, ...rest } = object.metadata;
  await harness.store.create(Workflow, { ...object, metadata: { ...rest, name: "third" } });
  await harness.settle();
  expect(await harness.phases("third")).toMatchObject({ a: "Succeeded/Reused" });
});

test("a fan-out that succeeded is reused whole", async () => {
  await harness.create({
    steps: { each: job({ forEach: { items: [1, 2] } }), last: { ...script("x"), dependencies: ["each"] } },
  });
  for (const item of [0, 1]) await harness.endItem("each", item);
  await harness.end("last", { exitCode: 1 });
  await again();
  expect(await harness.phases("again")).toMatchObject({ each: "Succeeded/Reused" });
  expect((await harness.status("again")).statuses?.["each"]?.items).toMatchObject({ total: 2, states: "2S" });
});

test("when the earlier run is gone every step runs, and that is told", async () => {
  await harness.create(spec());
  const object = resubmission(await harness.workflow(), { reuse: true });
  await harness.store.delete({ type: Workflow, namespace, name: "wf" });
  await harness.settle();
  const { generateName: _completed, ...rest } = object.metadata;
  await harness.store.create(Workflow, { ...object, metadata: { ...rest, name: "again" } });
  await harness.settle();
  expect(harness.reasons()).toContain("NothingToReuse");
  expect(await harness.phases("again")).toEqual({ build: "Starting" });
});
