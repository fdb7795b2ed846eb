import { describe, expect, test } from "vitest";
import { zeroUuid } from "../objects.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { machineId, Scene } from "../testing/scene.ts";

const world = (): MemoryWorld =>
  new MemoryWorld({
    tasks: ["aa", "bb", "cc"].map((Name) => ({ Name })),
    bootenvs: [{ Name: "e1" }, { Name: "os-install", OS: { Name: "os-9" } }],
    stages: [
      { Name: "s1", BootEnv: "e1", Tasks: ["aa", "bb"] },
      { Name: "s2", Tasks: ["cc"] },
      { Name: "s3", BootEnv: "os-install", Tasks: ["context:x", "aa"] },
    ],
    workflows: [
      { Name: "w1", Stages: ["s1", "s2"] },
      { Name: "w2", Stages: ["s1", "s3"] },
    ],
  });

describe("a workflow of two stages", () => {
  test("15.3 the first POST gives the first real task; 15.4 the next one comes after the first has finished", () => {
    const scene = new Scene(world(), { Workflow: "w1" });
    expect(scene.post()).toMatchObject({
      kind: "commit",
      code: 201,
      job: {
        Task: "aa",
        CurrentIndex: 2,
        NextIndex: 3,
        State: "created",
        Previous: zeroUuid,
        Current: true,
        Stage: "s1",
      },
    });
    const first = scene.machine.CurrentJob;
    expect(scene.post()).toMatchObject({
      kind: "refused",
      error: { Code: 409, Type: "Conflict", Messages: [`Machine ${machineId} already has running or created job`] },
    });
    scene.finish();
    expect(scene.post()).toMatchObject({ code: 201, job: { Task: "bb", Previous: first, CurrentIndex: 3 } });
    expect(scene.world.get("jobs", first)).toMatchObject({ Current: false, State: "finished" });
  });

  test("15.5 a boundary is crossed by a finished job of its own, then 15.6 the list ends without one", () => {
    const scene = new Scene(world(), { Workflow: "w1" });
    for (const _ of ["aa", "bb"]) {
      scene.post();
      scene.finish();
    }
    expect(scene.post()).toMatchObject({ code: 204, log: ['Stage changed from "s1" to "s2"'] });
    expect(scene.machine).toMatchObject({ Stage: "s2", CurrentTask: 4, Runnable: true });
    expect(scene.job).toMatchObject({ Task: "stage:s2", State: "finished", ExitState: "complete", Stage: "s2" });
    expect(scene.post()).toMatchObject({ code: 201, job: { Task: "cc", CurrentIndex: 5 } });
    scene.finish();
    const last = scene.machine.CurrentJob;
    expect(scene.postCode()).toBe(204);
    expect(scene.machine).toMatchObject({ CurrentTask: 6, WorkflowComplete: true, CurrentJob: last });
    expect(scene.post()).toEqual({ kind: "nothing" });
  });

  test("15.7 changes that come together are one finished job; 15.8 another boot environment needs a start", () => {
    const scene = new Scene(world(), { Workflow: "w2" });
    for (const _ of ["aa", "bb"]) {
      scene.post();
      scene.finish();
    }
    const rolled = scene.post();
    expect(rolled).toMatchObject({
      code: 204,
      job: { Task: "context:x", State: "finished", CurrentIndex: 6 },
      machine: { Stage: "s3", BootEnv: "os-install", Context: "x", OS: "os-9", Runnable: false, CurrentTask: 6 },
    });
    expect(rolled.kind === "commit" && rolled.log).toHaveLength(3);
    expect(scene.postCode("x")).toBe(409);
    expect(scene.patch({ Runnable: true })).toBe(null);
    expect(scene.postCode("")).toBe(204);
    expect(scene.post("x")).toMatchObject({ code: 201, job: { Task: "aa", Context: "x", CurrentIndex: 7 } });
  });
});
