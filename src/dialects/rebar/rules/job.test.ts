import { describe, expect, test } from "vitest";
import { zeroTime, zeroUuid } from "../objects.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { machineId, Scene } from "../testing/scene.ts";
import { nextJob, readJobRequest, undeletable } from "./job.ts";

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

/** A machine with this list. */
const withTasks = (...Tasks: readonly string[]): Scene => new Scene(world(), { Tasks });

describe("what POST /jobs refuses", () => {
  test("14 POST /jobs, unknown machine", () => {
    const scene = withTasks("aa");
    scene.world.remove("machines", machineId);
    expect(nextJobWithout(scene)).toMatchObject({
      error: { Code: 422, Type: "ValidationError", Messages: [`Machine ${machineId} does not exist`] },
    });
  });

  test("14 POST /jobs `{}`, or with a Uuid that is none", () => {
    expect(readJobRequest({})).toMatchObject({
      error: { Code: 400, Messages: ["Create request must have Machine field"] },
    });
    expect(readJobRequest({ Machine: machineId, Uuid: "x" })).toMatchObject({ error: { Code: 400 } });
    expect(readJobRequest({ machine: machineId, Uuid: null })).toEqual({
      ok: true,
      value: { Machine: machineId, Context: "", Uuid: "" },
    });
  });

  test("14 POST /jobs, machine not Runnable or not Available", () => {
    const scene = withTasks("aa");
    for (const lame of [{ Runnable: false }, { Available: false }]) {
      scene.world.put("machines", { ...scene.machine, Runnable: true, Available: true, ...lame });
      const error = { Code: 409, Type: "Conflict", Messages: [`Machine ${machineId} is not runnable`] };
      expect(scene.post()).toMatchObject({ kind: "refused", error });
    }
  });

  test("14 POST /jobs with a used Uuid", () => {
    const scene = withTasks("aa", "bb");
    const uuid = "00000000-0000-4000-8000-00000000abcd";
    expect(scene.post("", uuid)).toMatchObject({ code: 201, job: { Uuid: uuid } });
    scene.finish();
    expect(scene.post("", uuid)).toMatchObject({ error: { Code: 409, Type: "CREATE", Messages: ["already exists"] } });
  });

  test("14 POST /jobs, other Context / list done / empty list", () => {
    const scene = withTasks("aa");
    expect(scene.post("x")).toEqual({ kind: "nothing" });
    scene.post();
    scene.finish();
    scene.post();
    expect(scene.post()).toEqual({ kind: "nothing" });
    expect(withTasks().post()).toEqual({ kind: "nothing" });
  });
});

const nextJobWithout = (scene: Scene) =>
  nextJob(undefined, undefined, { Machine: scene.id, Context: "", Uuid: "" }, scene.world, {
    now: scene.now,
    uuid: "",
  });

describe("the state of the current job", () => {
  test("15.9 failed: the machine stops in the same write, and a new job for the task follows when it may run", () => {
    const scene = withTasks("aa", "bb");
    scene.post();
    const failed = scene.machine.CurrentJob;
    scene.patchJob({ State: "running" });
    scene.patchJob({ State: "failed", ExitState: "failed" });
    expect(scene.machine.Runnable).toBe(false);
    expect(scene.postCode()).toBe(409);
    scene.patch({ Runnable: true });
    expect(scene.post()).toMatchObject({ code: 201, job: { Task: "aa", CurrentIndex: 0, Previous: failed } });
    expect(scene.machine.CurrentJob).not.toBe(failed);
  });

  test("15.10 incomplete: the same job again, unchanged", () => {
    const scene = withTasks("aa");
    scene.post();
    scene.patchJob({ State: "incomplete", ExitState: "complete" });
    const before = scene.job;
    expect(scene.post()).toEqual({ kind: "again", job: before });
    expect(scene.machine.Runnable).toBe(true);
  });

  test("15.11 another context waits; the machine's own gets the job", () => {
    const scene = new Scene(world(), { Tasks: ["aa"], Context: "x" });
    expect(scene.postCode("")).toBe(204);
    expect(scene.post("x")).toMatchObject({ code: 201, job: { Context: "x" } });
  });

  test("left behind by a reset: it fails without stopping the machine", () => {
    const scene = withTasks("aa", "bb");
    scene.post();
    const left = scene.machine.CurrentJob;
    scene.patchJob({ State: "running" });
    scene.patch({ CurrentTask: -1 });
    expect(scene.post()).toMatchObject({ code: 201, job: { Task: "aa" }, machine: { Runnable: true } });
    expect(scene.world.get("jobs", left)).toMatchObject({ State: "failed", ExitState: "failed", Current: false });
  });

  test("created and moved away from: nobody else gets a job before it ends", () => {
    const scene = withTasks("aa", "bb");
    scene.post();
    scene.patch({ CurrentTask: -1 });
    expect(scene.postCode()).toBe(409);
  });
});

describe("entries that are no tasks", () => {
  test("15.12 a context hands over, and `context:` takes back", () => {
    const scene = withTasks("context:x", "aa", "context:", "bb");
    expect(scene.postCode("")).toBe(204);
    expect(scene.machine).toMatchObject({ Context: "x", CurrentTask: 0 });
    expect(scene.post("x")).toMatchObject({ job: { Task: "aa" } });
    scene.finish();
    expect(scene.post("x")).toMatchObject({ code: 204, log: ['Context changed from "x" to ""'] });
    expect(scene.postCode("x")).toBe(204);
    expect(scene.post("")).toMatchObject({ code: 201, job: { Task: "bb", CurrentIndex: 3 } });
  });

  test("15.17 an action runs on the server, with or without a plugin", () => {
    const scene = withTasks("action:power:on", "action:ping");
    expect(scene.post()).toMatchObject({
      code: 201,
      job: { State: "running", Task: "action:power:on" },
      action: { plugin: "power", command: "on" },
    });
    expect(scene.postCode()).toBe(409);
    scene.patchJob({ State: "finished", ExitState: "complete" });
    const next = scene.post();
    expect(next).toMatchObject({ code: 201, action: { command: "ping" } });
    expect(next.kind === "commit" && next.action).not.toHaveProperty("plugin");
    scene.patchJob({ State: "failed", ExitState: "failed" });
    expect(scene.machine.Runnable).toBe(false);
  });

  test("15.17 a roll that comes to an action is written first", () => {
    const scene = withTasks("context:x", "action:ping");
    expect(scene.post("")).toMatchObject({ code: 204, job: { Task: "context:x", State: "finished" } });
    expect(scene.post("x")).toMatchObject({ code: 201, action: { command: "ping" } });
  });

  test("chroot is not supported: a failed job stops the machine", () => {
    const scene = withTasks("chroot:/mnt", "aa");
    expect(scene.post()).toMatchObject({
      code: 204,
      job: { State: "failed", ExitState: "failed" },
      log: ["chroot entries are not supported"],
      machine: { Runnable: false },
    });
  });

  test("what changes nothing makes no job", () => {
    const scene = withTasks("stage:none", "context:", "aa");
    expect(scene.post()).toMatchObject({ code: 201, job: { CurrentIndex: 2 } });
  });
});

describe("an update of a job", () => {
  test("14 PATCH job State `fred`", () => {
    const scene = withTasks("aa");
    scene.post();
    const uuid = scene.machine.CurrentJob;
    expect(scene.patchJob({ State: "fred" })).toEqual([`${uuid}: Invalid State \`fred\``]);
    expect(scene.patchJob({ ExitState: "fred" })).toEqual([`${uuid}: Invalid ExitState \`fred\``]);
  });

  test("changes state, exit state and Meta only, and notes when it began and ended", () => {
    const scene = withTasks("aa");
    scene.post();
    const { StartTime } = scene.job ?? {};
    scene.patchJob({ State: "running", Task: "bb", Current: false, Meta: { a: "b" } });
    expect(scene.job).toMatchObject({ State: "running", Task: "aa", Current: true, Meta: { a: "b" } });
    expect(scene.job?.StartTime).not.toBe(StartTime);
    expect(scene.job?.EndTime).toBe(zeroTime);
    scene.patchJob({ State: "finished" });
    const ended = scene.job?.EndTime;
    expect(ended).not.toBe(zeroTime);
    scene.patchJob({ State: "failed" });
    expect(scene.job).toMatchObject({ State: "failed", EndTime: ended });
  });

  test("of a job that is no longer current does not touch the machine", () => {
    const scene = withTasks("aa", "bb");
    scene.post();
    const first = scene.machine.CurrentJob;
    scene.finish();
    scene.post();
    scene.patchJob({ State: "failed" }, first);
    expect(scene.machine.Runnable).toBe(true);
  });

  test("fails it when its task is no longer there", () => {
    const scene = withTasks("aa");
    scene.post();
    scene.world.remove("tasks", "aa");
    scene.patchJob({ State: "finished", ExitState: "complete" });
    expect(scene.job).toMatchObject({ State: "failed", Errors: ["Task aa does not exist"] });
    expect(scene.machine.Runnable).toBe(false);
  });

  test("a job that has not ended may be deleted only after its machine, or when another one follows it", () => {
    const scene = withTasks("aa");
    scene.post();
    const uuid = scene.machine.CurrentJob;
    const deletable = () => undeletable(scene.world.get("jobs", uuid) ?? expect.fail("no job"), scene.world);
    expect(deletable()?.Messages).toEqual([`Jobs ${uuid} is not in a deletable state: created`]);
    scene.finish();
    expect(deletable()).toBe(undefined);
  });
});
