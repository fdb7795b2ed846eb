import { afterEach, beforeEach, expect, test } from "vitest";
import type { Json } from "#kernel/apiserver/testing/index.ts";
import { jobs, types, WorkflowPlane, workflows } from "../control-plane.ts";
import { conditionIn, jobsOf, Kubelet, labelsOf, stepsOf } from "../kubelet.ts";

// Lines 1 to 5 and 10 of the acceptance list: order, marks and events of a run, and what becomes of it when a step fails.

let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

const box = { container: { image: "busybox" } };
const after = (...dependencies: readonly string[]) => ({ ...box, dependencies });
const diamond = { one: box, two: after("one"), three: after("one"), four: after("two", "three") };

test("line 1: a diamond and an isolated step", async () => {
  await plane.create("wf", { steps: { ...diamond, alone: box } });
  expect(await kubelet.steps()).toEqual(["alone", "one"]);
  await kubelet.end("one");
  expect(await kubelet.steps()).toEqual(["alone", "three", "two"]);
  await kubelet.end("two");
  expect(await kubelet.steps()).toEqual(["alone", "three"]);
  await kubelet.end("three");
  expect(await kubelet.steps()).toEqual(["alone", "four"]);
  expect(conditionIn(await plane.status("wf"), "Complete")).toMatchObject({ status: "False" });
  await kubelet.endAll();
  const status = await plane.status("wf");
  expect(conditionIn(status, "Complete")).toMatchObject({ status: "True" });
  expect(status).toMatchObject({ phase: "Succeeded", completionTime: expect.stringMatching(/^2026-01-01T00:00:0/) });
  const statuses = Object.values(status["statuses"] ?? {}) as readonly Json[];
  expect(statuses.map(({ complete }) => complete)).toEqual([true, true, true, true, true]);
});

test("line 2: labels and owner of Jobs", async () => {
  const { json: wf } = await plane.create("wf", {
    selector: { matchLabels: { team: "edge" } },
    steps: { a: { ...box, retry: { limit: 1, initialSeconds: 1 } }, b: box },
  });
  await plane.create("other", { steps: { a: box } });
  const foreign = { metadata: { name: "foreign" }, spec: { template: { spec: podSpec } } };
  await plane.api.ask("POST", jobs, { body: { apiVersion: "batch/v1", kind: "Job", ...foreign } });
  await kubelet.end("a", { exitCode: 1 }, { workflow: "wf" });
  await plane.pass(2_000);
  const uid = wf["metadata"]?.["uid"];
  const made = await jobsOf(plane);
  expect(made.map((job) => [labelsOf(job)["slipway.dev/step"], labelsOf(job)["slipway.dev/attempt"]])).toEqual([
    ["a", "1"],
    ["b", "1"],
    ["a", "2"],
  ]);
  for (const job of made) {
    const mark = { team: "edge", "slipway.dev/workflow": "wf", "slipway.dev/workflow-uid": uid };
    expect(labelsOf(job)).toMatchObject(mark);
    expect(job["spec"]?.["template"]?.["metadata"]?.["labels"]).toMatchObject(mark);
    expect(job["metadata"]?.["ownerReferences"]).toEqual([
      {
        apiVersion: "slipway.dev/v1alpha1",
        kind: "Workflow",
        name: "wf",
        uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  }
  const selected = await plane.list(`${jobs}?labelSelector=slipway.dev/workflow-uid%3D${String(uid)}`);
  expect(selected).toHaveLength(3);
});

const podSpec = { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] };

test("line 3: a step of the chain fails", async () => {
  await plane.create("wf", { steps: { ...diamond, alone: box, after: after("alone") } });
  await kubelet.endAll(({ step }) => ({ exitCode: step === "one" ? 1 : 0 }));
  const skipped = "Skipped/DependencyFailed";
  expect(await plane.phases("wf")).toMatchObject({
    two: skipped,
    three: skipped,
    four: skipped,
    alone: "Succeeded",
    after: "Succeeded",
  });
  const status = await plane.status("wf");
  expect(status).toMatchObject({ phase: "Failed", completionTime: expect.any(String) });
  expect(conditionIn(status, "Failed")).toMatchObject({
    status: "True",
    reason: "StepFailed",
    message: expect.stringContaining("one"),
  });
});

test("line 4: Drain lets what runs end and starts nothing new", async () => {
  await plane.create("wf", { failureStrategy: "Drain", steps: { bad: box, slow: box, later: after("slow") } });
  await kubelet.end("bad", { exitCode: 1 });
  expect(await kubelet.steps()).toEqual(["slow"]);
  await kubelet.endAll();
  expect(await plane.phases("wf")).toMatchObject({ slow: "Succeeded", later: "Skipped/RunFailing" });
  expect(conditionIn(await plane.status("wf"), "Failed")).toMatchObject({ status: "True", reason: "StepFailed" });
});

test("line 4: Cancel ends what runs", async () => {
  await plane.create("wf", { failureStrategy: "Cancel", steps: { bad: box, slow: box, later: after("slow") } });
  await kubelet.end("bad", { exitCode: 1 });
  expect(await kubelet.steps()).toEqual([]);
  await plane.pass(1_000);
  expect(await plane.phases("wf")).toMatchObject({
    slow: expect.stringMatching(/^Canceled/),
    later: "Skipped/RunFailing",
  });
  expect(conditionIn(await plane.status("wf"), "Failed")).toMatchObject({ status: "True", reason: "StepFailed" });
  expect(stepsOf(await jobsOf(plane))).not.toContain("slow");
});

test("line 4: onFailure: Continue forgives, visibly", async () => {
  await plane.create("wf", { steps: { bad: { ...box, onFailure: "Continue" }, next: after("bad") } });
  await kubelet.endAll(({ step }) => ({ exitCode: step === "bad" ? 1 : 0 }));
  expect(await plane.phases("wf")).toEqual({ bad: "Failed/Error", next: "Succeeded" });
  const status = await plane.status("wf");
  expect(status).toMatchObject({ phase: "Succeeded" });
  expect(conditionIn(status, "Complete")).toMatchObject({ status: "True" });
});

test("line 5: a deadline of three seconds", async () => {
  await plane.create("wf", { activeDeadlineSeconds: 3, steps: { sleep: box, later: after("sleep") } });
  await plane.pass(2_500);
  expect(await kubelet.steps()).toEqual(["sleep"]);
  await plane.pass(1_000);
  expect(await kubelet.steps()).toEqual([]);
  await plane.pass(1_500);
  const exceeded = "Canceled/DeadlineExceeded";
  expect(await plane.phases("wf")).toEqual({ sleep: exceeded, later: exceeded });
  expect(await jobsOf(plane)).toEqual([]);
  const status = await plane.status("wf");
  expect(conditionIn(status, "Failed")).toMatchObject({ status: "True", reason: "DeadlineExceeded" });
  expect(status).toMatchObject({ completionTime: expect.any(String) });
});

test("line 5: a deadline that is raised in time", async () => {
  await plane.create("wf", { activeDeadlineSeconds: 3, steps: { sleep: box, later: after("sleep") } });
  await plane.pass(2_500);
  const bytes = JSON.stringify({ spec: { activeDeadlineSeconds: 60 } });
  const { status } = await plane.api.ask("PATCH", `${workflows}/wf`, { bytes, headers: types.merge });
  expect(status).toBe(200);
  await plane.pass(10_000);
  await kubelet.endAll();
  expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
});

const eventsOf = async (name: string): Promise<readonly string[]> => {
  const found = await plane.list("/api/v1/namespaces/default/events");
  return found
    .filter((event) => String(event["involvedObject"]?.["name"]) === name)
    .sort((a, b) => Number(a["metadata"]?.["resourceVersion"]) - Number(b["metadata"]?.["resourceVersion"]))
    .map((event) => `${String(event["reason"])} ${String(event["count"] ?? 1)}`);
};

test("line 10: the four events of the proposal, once and in order", async () => {
  await plane.create("wf", { steps: diamond });
  await kubelet.endAll();
  await plane.api.ask("DELETE", `${workflows}/wf`);
  await plane.pass(10_000);
  const four = ["WorkflowCreated 1", "WorkflowStarted 1", "WorkflowEnded 1", "WorkflowDeleted 1"];
  expect((await eventsOf("wf")).filter((reason) => reason.startsWith("Workflow"))).toEqual(four);
});
