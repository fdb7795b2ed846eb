import { afterEach, beforeEach, expect, test } from "vitest";
import { types, WorkflowPlane, workflows } from "../control-plane.ts";
import { conditionIn, jobsOf, Kubelet, stepsOf } from "../kubelet.ts";

// Line 9 of the acceptance list, on a server that knows our kinds and asks nobody before it stores them: the controller keeps to what it
// started with.

let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.start(false);
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

const box = { container: { image: "busybox" } };
const after = (...dependencies: readonly string[]) => ({ ...box, dependencies });
const edit = async (steps: object) => {
  const answer = await plane.api.ask("PATCH", `${workflows}/wf`, {
    bytes: JSON.stringify({ spec: { steps } }),
    headers: types.merge,
  });
  expect(answer.status, answer.text).toBe(200);
  await plane.pass(1_000);
};
const invalid = async () => conditionIn(await plane.status("wf"), "Invalid");

test("line 9: without admission a step that has not started is changed, removed or added", async () => {
  await plane.create("wf", { steps: { runs: box, later: after("runs"), never: after("runs") } });
  await edit({ later: { container: { args: ["changed"] } }, never: null, added: after("later") });
  expect(await invalid()).toBeUndefined();
  expect(await kubelet.endAll()).toEqual(["runs", "later", "added"]);
  expect(JSON.stringify(await jobsOf(plane))).toContain('"args":["changed"]');
  expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded", progress: "3/3" });
});

test("line 9: without admission a running step that is changed is a conflict: its child goes on, a further attempt is not made until it is put back", async () => {
  const retry = { limit: 3, initialSeconds: 1 };
  await plane.create("wf", { steps: { a: { ...box, retry }, b: { ...box, retry } } });
  await plane.pass(1_000);
  await edit({ a: { displayName: "changed" }, b: { displayName: "changed" } });
  expect(await invalid()).toMatchObject({ status: "True", reason: "SpecConflict" });
  expect(await kubelet.steps()).toEqual(["a", "b"]);
  await edit({ b: { displayName: null } });
  expect(await invalid()).toMatchObject({ status: "True", message: expect.stringContaining("a") });
  await kubelet.end("a", { exitCode: 1 });
  await kubelet.end("b", { exitCode: 1 });
  await plane.pass(5_000);
  expect(await plane.phases("wf")).toMatchObject({ a: "Failed/SpecConflict" });
  expect((await kubelet.running()).map(({ step, attempt }) => `${step} ${attempt}`)).toEqual(["b 2"]);
});

test("line 9: without admission a running step that is removed is told of, and its child left alone", async () => {
  await plane.create("wf", { steps: { gone: box, other: box } });
  await plane.pass(1_000);
  await edit({ gone: null });
  expect(await invalid()).toMatchObject({ reason: "SpecConflict", message: expect.stringContaining("gone") });
  expect(await kubelet.steps()).toEqual(["gone", "other"]);
});

test("line 9: without admission a completed step that is removed, and anything of a finished workflow: nothing runs again", async () => {
  await plane.create("wf", { steps: { done: box, runs: box } });
  await kubelet.end("done");
  await plane.pass(1_000);
  await edit({ done: null, runs: { displayName: "changed" } });
  await kubelet.endAll();
  await plane.pass(60_000);
  expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
  const made = stepsOf(await jobsOf(plane));
  await edit({ more: box });
  await plane.pass(60_000);
  expect(stepsOf(await jobsOf(plane))).toEqual(made);
  expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
});

test("a workflow that was created with a status, or is wrong, is not deleted, and a wrong one starts nothing until it is put right", async () => {
  const status = { phase: "Succeeded", conditions: [{ type: "Complete", status: "True" }] };
  await plane.create("wf", { steps: { a: after("nobody"), b: {} } }, { status });
  expect(await invalid()).toMatchObject({ status: "True", reason: "InvalidSpec" });
  expect((await invalid())?.["message"]).toContain('no step "nobody"');
  expect((await invalid())?.["message"]).toContain("spec.steps.b");
  expect(await jobsOf(plane)).toEqual([]);
  await edit({ a: { dependencies: null }, b: null });
  expect(await kubelet.endAll()).toEqual(["a"]);
  expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
});
