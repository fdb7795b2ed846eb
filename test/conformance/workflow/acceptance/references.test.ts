import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { types, WorkflowPlane, workflows } from "../control-plane.ts";
import { Kubelet } from "../kubelet.ts";
import { createKind, putStatus } from "../other-kinds.ts";

// Lines 7 and 8 of the acceptance list: steps that wait for what others own.

let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

const box = { container: { image: "busybox" } };
const to = (name: string, more: object = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow" }) => ({
  externalRef: { ...more, name },
});

describe("line 7: a reference to a Workflow", () => {
  test("that runs completes with it, and fails with it in its words", async () => {
    await plane.create("good", { steps: { a: box } });
    await plane.create("bad", { steps: { a: box } });
    await plane.create("wf", { steps: { good: to("good"), bad: to("bad") } });
    expect(await plane.phases("wf")).toEqual({ good: "Running", bad: "Running" });
    await kubelet.end("a", {}, { workflow: "good" });
    expect(await plane.phases("wf")).toEqual({ good: "Succeeded", bad: "Running" });
    await kubelet.end("a", { exitCode: 1 }, { workflow: "bad" });
    expect(await plane.phases("wf")).toEqual({ good: "Succeeded", bad: "Failed/StepFailed" });
    const uid = (await plane.get(`${workflows}/good`))["metadata"]?.["uid"];
    expect(await plane.status("wf")).toMatchObject({ statuses: { good: { reference: { name: "good", uid } } } });
  });

  test("that is created later waits for it", async () => {
    await plane.create("wf", { steps: { ref: to("later"), next: { ...box, dependencies: ["ref"] } } });
    await plane.pass(60_000);
    expect(await plane.phases("wf")).toEqual({ ref: "Waiting/ReferenceNotFound" });
    await plane.create("later", { steps: { a: box } });
    await kubelet.end("a");
    expect(await kubelet.steps()).toEqual(["next"]);
  });

  test("that is deleted fails", async () => {
    await plane.create("gone", { steps: { a: box } });
    await plane.create("wf", { steps: { ref: to("gone") } });
    await plane.pass(1_000);
    await plane.api.ask("DELETE", `${workflows}/gone`);
    await plane.pass(5_000);
    expect(await plane.phases("wf")).toEqual({ ref: "Failed/ReferenceDeleted" });
  });

  test("that has finished counts at once", async () => {
    await plane.create("done", { steps: { a: box } });
    await kubelet.endAll();
    await plane.create("wf", { steps: { ref: to("done") } });
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
  });
});

test("line 8: a foreign kind with the condition Succeeded alone", async () => {
  const kind = await createKind(plane, "site.example", "Parcel");
  const parcel = { apiVersion: "site.example/v1", kind: "Parcel" };
  for (const name of ["good", "bad"])
    await plane.api.ask("POST", kind, { body: { ...parcel, metadata: { name }, spec: {} } });
  await plane.create("wf", { steps: { good: to("good", parcel), bad: to("bad", parcel) } });
  await plane.pass(2_000);
  expect(await plane.phases("wf")).toEqual({ good: "Running", bad: "Running" });
  const told = (status: string, message: string) => [{ type: "Succeeded", status, reason: "Told", message }];
  await putStatus(plane, `${kind}/good`, { conditions: told("Unknown", "under way") });
  await plane.pass(2_000);
  expect(await plane.phases("wf")).toMatchObject({ good: "Running" });
  await putStatus(plane, `${kind}/good`, { conditions: told("True", "there") });
  await putStatus(plane, `${kind}/bad`, { conditions: told("False", "lost at sea") });
  await plane.pass(2_000);
  expect(await plane.phases("wf")).toEqual({ good: "Succeeded", bad: "Failed/Told" });
  expect(await plane.status("wf")).toMatchObject({ statuses: { bad: { message: "lost at sea" } } });
  const { status } = await plane.api.ask("PATCH", `${kind}/good`, {
    bytes: JSON.stringify({ metadata: { labels: { still: "there" } } }),
    headers: types.merge,
  });
  expect(status, "the workflow leaves it where it is").toBe(200);
});
