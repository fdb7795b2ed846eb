import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { machineId, Scene } from "../testing/scene.ts";
import { createMachine, settled } from "./machine.ts";

const names = (...list: readonly string[]): readonly JsonObject[] => list.map((Name) => ({ Name }));

const world = (): MemoryWorld =>
  new MemoryWorld({
    tasks: names("aa", "bb", "cc", "dd"),
    bootenvs: [...names("e1", "env1", "env2"), { Name: "os-install", OS: { Name: "os-9" } }],
    stages: [
      { Name: "s1", BootEnv: "e1", Tasks: ["aa", "bb"] },
      { Name: "s2", Tasks: ["cc"] },
      { Name: "sa", BootEnv: "env1", Tasks: ["aa"] },
      { Name: "sb", Tasks: ["bb"] },
      { Name: "sc", BootEnv: "env2", Tasks: ["context:x", "cc"] },
      { Name: "sd", BootEnv: "env2", Tasks: ["dd"] },
      { Name: "installing", BootEnv: "os-install" },
    ],
    workflows: [
      { Name: "w1", Stages: ["s1", "s2"] },
      { Name: "w2", Stages: ["sa", "sb", "sc", "sd"] },
      { Name: "empty" },
    ],
    profiles: names("jill"),
  });

const create = (sent: JsonObject, into: MemoryWorld = world(), isForced = false) =>
  createMachine(sent, into, { uuid: machineId, secret: "0123456789abcdef", isForced });
const refusals = (sent: JsonObject): readonly string[] => {
  const created = create(sent);
  return created.ok ? [] : created.error.Messages;
};

describe("a new machine", () => {
  test("has the preferences' stage and boot environment, a secret, and is Runnable whatever was sent", () => {
    expect(create({ name: "m1", Runnable: false, Params: { a: null }, Nonsense: 1 })).toMatchObject({
      ok: true,
      value: {
        Name: "m1",
        Uuid: machineId,
        Stage: "none",
        BootEnv: "local",
        Workflow: "",
        Arch: "amd64",
        Secret: "0123456789abcdef",
        Runnable: true,
        CurrentTask: 0,
        WorkflowComplete: true,
        Params: { a: null },
        Meta: { "feature-flags": "change-stage-v2" },
        PoolStatus: "Free",
      },
    });
  });

  test("15.2 is in the first stage of its workflow at once, Runnable, before the start of its tasks", () => {
    expect(create({ Name: "m1", Workflow: "w1" })).toMatchObject({
      ok: true,
      value: {
        Tasks: ["stage:s1", "bootenv:e1", "aa", "bb", "stage:s2", "cc"],
        CurrentTask: -1,
        Stage: "s1",
        BootEnv: "e1",
        Runnable: true,
        WorkflowComplete: false,
      },
    });
    const scene = new Scene(world());
    expect(scene.patch({ Workflow: "w1" })).toBe(null);
    expect(scene.machine).toMatchObject({ CurrentTask: -1, Stage: "s1", BootEnv: "e1", Runnable: false });
  });

  test("keeps the tasks that were sent if its stage has none, and the stage's otherwise", () => {
    expect(create({ Name: "m1", Tasks: ["cc"] })).toMatchObject({ value: { Tasks: ["cc"], CurrentTask: -1 } });
    expect(create({ Name: "m1", Tasks: ["cc"], Stage: "s1" })).toMatchObject({
      value: { Tasks: ["aa", "bb"], BootEnv: "e1" },
    });
  });

  test("15.14 starts in its base context unless another one was sent", () => {
    expect(create({ Name: "m1", Meta: { BaseContext: "x" } })).toMatchObject({ value: { Context: "x" } });
    // The original client sends an empty one with every machine.
    expect(create({ Name: "m1", Meta: { BaseContext: "x" }, Context: "" })).toMatchObject({ value: { Context: "x" } });
    expect(create({ Name: "m1", Meta: { BaseContext: "x" }, Context: "y" })).toMatchObject({ value: { Context: "y" } });
  });

  test("takes the system of an installer that it starts in", () => {
    expect(create({ Name: "m1", Stage: "installing" })).toMatchObject({ value: { OS: "os-9" } });
  });

  test("14 create machine without name / name `foo/`", () => {
    expect(refusals({})).toEqual([`${machineId}: Invalid Name \`\``]);
    expect(refusals({ Name: "foo/" })).toEqual([`${machineId}: Invalid Name \`foo/\``]);
  });

  test("14 create machine, unknown stage and bootenv", () => {
    expect(refusals({ Name: "m1", Stage: "baz", BootEnv: "bar" })).toEqual([
      "Stage baz does not exist",
      "Bootenv bar does not exist",
    ]);
    expect(create({ Name: "m1", Stage: "baz" }, world(), true)).toMatchObject({
      value: { Available: false, Runnable: false, Errors: ["Stage baz does not exist"] },
    });
  });

  test("14 create machine, unknown or doubled profile", () => {
    expect(refusals({ Name: "m1", Profiles: ["foo"] })).toEqual([`${machineId}: Profile foo (at 0) does not exist`]);
    expect(refusals({ Name: "m1", Profiles: ["jill", "jill"] })).toEqual([
      `${machineId}: Duplicate profile jill: at 0 and 1`,
    ]);
  });

  test('14 create machine, Tasks `["stage:nope","foo:bar"]`', () => {
    expect(refusals({ Name: "m1", Tasks: ["stage:nope", "foo:bar"] })).toEqual([
      `${machineId}: foo:bar (at 1) is malformed`,
      `${machineId}: Stage nope (at 0) does not exist`,
    ]);
  });

  test("is refused a boot environment for unknown machines, unless forced", () => {
    const text = "BootEnv ignore does not allow Machine assignments, it has the OnlyUnknown flag.";
    expect(refusals({ Name: "m1", BootEnv: "ignore" })).toEqual([text]);
    expect(create({ Name: "m1", BootEnv: "ignore" }, world(), true)).toMatchObject({ value: { Available: true } });
  });

  test("may not have the name or the address of another one", () => {
    const scene = new Scene(world(), { Name: "m1", Address: "10.0.0.1" });
    const uuid = "00000000-0000-4000-8000-0000000000bb";
    const other = create({ Name: "m1", Address: "10.0.0.1", Uuid: uuid }, scene.world);
    expect(other).toMatchObject({
      error: {
        Code: 422,
        Messages: [
          `${uuid}: Name m1 is already used by machine ${machineId}`,
          `${uuid}: Address 10.0.0.1 is already used by machine ${machineId}`,
        ],
      },
    });
    expect(create({ Name: "m2", Address: "10.0.0.999" }, scene.world).ok).toBe(false);
  });
});

describe("the workflow of a machine", () => {
  test("15.13 may be switched while a job runs, which ends in peace, and the new list starts at its first task", () => {
    const scene = new Scene(world(), { Workflow: "w1" });
    scene.post();
    scene.patchJob({ State: "running" });
    const before = scene.machine.CurrentJob;
    expect(scene.patch({ Workflow: "w2" })).toBe(null);
    expect(scene.machine).toMatchObject({ CurrentTask: -1, Stage: "sa", BootEnv: "env1", Runnable: false });
    expect(scene.patchJob({ State: "finished", ExitState: "complete" }, before)).toBe(null);
    scene.patch({ Runnable: true });
    expect(scene.post()).toMatchObject({ code: 201, job: { Task: "aa", CurrentIndex: 2, Previous: before } });
    expect(scene.world.get("jobs", before)).toMatchObject({ State: "finished", Current: false });
  });

  test("15.14 removed: stage none, no tasks, the base context; the boot environment stays", () => {
    const scene = new Scene(world(), { Workflow: "w2", Context: "y" });
    expect(scene.patch({ Workflow: "" })).toBe(null);
    const removed = { Stage: "none", Tasks: [], CurrentTask: -1, Context: "", BootEnv: "env1", Runnable: true };
    expect(scene.machine).toMatchObject(removed);
    scene.patch({ Workflow: "w2" });
    scene.patch({ Workflow: "", Meta: { BaseContext: "x" } });
    expect(scene.machine.Context).toBe("x");
  });

  test("removed together with a stage that was sent: that stage's tasks", () => {
    const scene = new Scene(world(), { Workflow: "w2" });
    expect(scene.patch({ Workflow: "", Stage: "s2" })).toBe(null);
    expect(scene.machine).toMatchObject({ Stage: "s2", Tasks: ["cc"], BootEnv: "env1" });
  });

  test("15.16 decides about stage and boot environment, even against force", () => {
    const scene = new Scene(world(), { Workflow: "w1" });
    const texts = [
      `${machineId}: Changing machine bootenv not allowed; remove workflow first`,
      `${machineId}: Changing machine stage not allowed; remove workflow first`,
    ];
    expect(scene.patch({ Stage: "sa" }, { isForced: true })).toEqual(texts);
    expect(scene.patch({ Stage: "s2" })).toEqual(texts.slice(1));
    expect(scene.patch({ BootEnv: "env1" })).toEqual(texts.slice(0, 1));
  });

  test("14 assign a workflow that is not available, or is not there", () => {
    const scene = new Scene(world());
    const lame = scene.world.send("workflows", { Name: "lame", Stages: ["nope"] });
    scene.world.put("workflows", { ...lame, Available: false });
    expect(scene.patch({ Workflow: "lame" }, { isForced: true })).toEqual([
      `Machine ${machineId} wants Workflow lame, which is not available`,
    ]);
    expect(scene.patch({ Workflow: "nope" })).toEqual(["Workflow nope does not exist"]);
    expect(refusals({ Name: "m1", Workflow: "nope" })).toEqual(["Workflow nope does not exist"]);
  });

  test("may be empty: then it is complete", () => {
    const scene = new Scene(world());
    expect(scene.patch({ Workflow: "empty", Stage: "s1", BootEnv: "e1" })).toBe(null);
    const still = { Tasks: [], WorkflowComplete: true, Stage: "none", BootEnv: "local", Runnable: true };
    expect(scene.machine).toMatchObject(still);
    expect(scene.postCode()).toBe(204);
    expect(create({ Name: "m1", Workflow: "empty" })).toMatchObject({ value: { Tasks: [], CurrentTask: 0 } });
  });
});

describe("the stage of a machine without a workflow", () => {
  test("15.16 gives tasks and boot environment, and needs a start where that is another one", () => {
    const scene = new Scene(world(), { Context: "y" });
    expect(scene.patch({ Stage: "s1" })).toBe(null);
    expect(scene.machine).toMatchObject({
      Stage: "s1",
      BootEnv: "e1",
      Tasks: ["aa", "bb"],
      CurrentTask: -1,
      Context: "",
      Runnable: false,
    });
  });

  test("14 change Stage with pending tasks", () => {
    const scene = new Scene(world(), { Stage: "s1" });
    expect(scene.patch({ Stage: "s2" })).toEqual(["Can not change stages with pending tasks unless forced"]);
    expect(scene.patch({ Stage: "s2" }, { isForced: true })).toBe(null);
    expect(scene.machine).toMatchObject({ Stage: "s2", BootEnv: "e1" });
    scene.post();
    scene.finish();
    scene.post();
    expect(scene.patch({ Stage: "" })).toBe(null);
    expect(scene.machine).toMatchObject({ Stage: "none", Tasks: [] });
  });

  test("holds the boot environment, unless forced", () => {
    const scene = new Scene(world(), { Stage: "s1" });
    expect(scene.patch({ BootEnv: "env1" })).toEqual([
      "Can not change bootenv while in a stage unless forced. old: e1 new env1",
    ]);
    expect(scene.patch({ BootEnv: "nope" }, { isForced: true })).toEqual(["Bootenv nope does not exist"]);
    expect(scene.patch({ BootEnv: "env1", Runnable: true }, { isForced: true })).toBe(null);
    expect(scene.machine).toMatchObject({ BootEnv: "env1", Runnable: false });
  });

  test("is not the boot environment's keeper when it is none", () => {
    const scene = new Scene(world());
    expect(scene.patch({ BootEnv: "os-install" })).toBe(null);
    expect(scene.machine).toMatchObject({ BootEnv: "os-install", OS: "os-9", Runnable: false });
  });
});

/** A machine under w2 whose list stands at an index, in a boot environment. */
function standing(CurrentTask: number, BootEnv: string, Context = ""): Scene {
  const scene = new Scene(world(), { Workflow: "w2" });
  scene.world.put("machines", { ...scene.machine, CurrentTask, BootEnv, Context });
  return scene;
}
const w2 = "stage:sa bootenv:env1 aa stage:sb bb stage:sc bootenv:env2 context:x cc stage:sd bootenv:env2 dd".split(
  " ",
);

describe("CurrentTask", () => {
  test("15.15 reset under a workflow goes back to the first stage in this boot environment, with its context", () => {
    const scene = standing(11, "env2", "x");
    expect(scene.machine.Tasks).toEqual(w2);
    expect(scene.patch({ CurrentTask: -1 })).toBe(null);
    expect(scene.machine).toMatchObject({ CurrentTask: 5, Context: "" });
    const early = standing(4, "env1", "y");
    early.patch({ CurrentTask: -1 });
    expect(early.machine).toMatchObject({ CurrentTask: 0, Context: "" });
  });

  test("15.15 reset is -1 without a workflow, or where no stage needs this boot environment", () => {
    const scene = standing(12, "local");
    scene.patch({ CurrentTask: -1 });
    expect(scene.machine.CurrentTask).toBe(-1);
    const free = new Scene(world(), { Stage: "s1" });
    free.post();
    free.patch({ CurrentTask: -1 });
    expect(free.machine.CurrentTask).toBe(-1);
  });

  test("14 advance CurrentTask; other moves need a claim, and stay in the boot environment", () => {
    const scene = standing(8, "env2", "x");
    expect(scene.patch({ CurrentTask: 7 })).toEqual(["Cannot change CurrentTask from 8 to 7 (reposition not allowed)"]);
    const mayReposition = { mayReposition: true };
    expect(scene.patch({ CurrentTask: 11 }, mayReposition)).toEqual([
      "Cannot advance CurrentTask from 8 to 11 without running jobs",
    ]);
    expect(scene.patch({ CurrentTask: 4 }, mayReposition)).toEqual(["Cannot change CurrentTask from 8 to 4 past 5"]);
    expect(scene.patch({ CurrentTask: 6 }, mayReposition)).toBe(null);
    expect(scene.machine).toMatchObject({ CurrentTask: 6, Context: "" });
  });

  test("follows the list: -1 for new tasks, 0 for none, and never beyond it", () => {
    const scene = new Scene(world());
    expect(scene.patch({ Tasks: ["aa"] })).toBe(null);
    expect(scene.machine.CurrentTask).toBe(-1);
    expect(scene.patch({ Tasks: [] })).toBe(null);
    expect(scene.machine).toMatchObject({ CurrentTask: 0, WorkflowComplete: true });
    expect(settled({ ...scene.machine, CurrentTask: 7 }, undefined, scene.world).CurrentTask).toBe(0);
  });
});

describe("the task list", () => {
  test("14 remove or change executed tasks", () => {
    const scene = standing(4, "env1");
    expect(scene.patch({ Tasks: w2.slice(0, 4) })).toEqual([
      "Cannot remove tasks that have already executed or are already executing",
    ]);
    expect(scene.patch({ Tasks: w2.with(2, "dd") }, { isForced: true })).toEqual([
      "Cannot change tasks that have already executed or are executing",
    ]);
  });

  test("14 edit beyond the next stage: refused, unless forced", () => {
    const scene = standing(2, "env1");
    const later = w2.with(4, "dd");
    expect(scene.patch({ Tasks: later })).toEqual(["Cannot change tasks that are past the next stage transition"]);
    expect(scene.patch({ Tasks: later }, { isForced: true })).toBe(null);
    expect(scene.machine.Tasks).toEqual(later);
  });

  test("may be edited up to the next stage, and gets the prerequisites of new tasks there", () => {
    const scene = standing(2, "env1");
    scene.world.send("tasks", { Name: "needy", Prerequisites: ["aa", "dd"] });
    expect(scene.patch({ Tasks: w2.toSpliced(3, 0, "needy") })).toBe(null);
    expect(scene.machine).toMatchObject({ Tasks: w2.toSpliced(3, 0, "dd", "needy"), CurrentTask: 2 });
  });

  test("changes together with CurrentTask only when that starts over", () => {
    const scene = new Scene(world(), { Tasks: ["aa", "bb"] });
    scene.post();
    expect(scene.patch({ Tasks: ["cc"], CurrentTask: 1 })).toEqual([
      "Cannot change task list and current task at the same time",
    ]);
    expect(scene.patch({ Tasks: ["cc", "dd"], CurrentTask: -1 })).toBe(null);
    expect(scene.machine).toMatchObject({ Tasks: ["cc", "dd"], CurrentTask: -1 });
  });

  test("continues with tasks that are added after its end", () => {
    const scene = new Scene(world(), { Tasks: ["aa"] });
    scene.post();
    scene.finish();
    scene.post();
    expect(scene.patch({ Tasks: ["aa", "bb"] })).toBe(null);
    expect(scene.machine).toMatchObject({ CurrentTask: 1, WorkflowComplete: false });
    expect(scene.post()).toMatchObject({ code: 201, job: { Task: "bb", CurrentIndex: 1 } });
  });
});

describe("any change of a machine", () => {
  test("14 locked machine, change by user: only unlocking passes, and its own agent", () => {
    const scene = new Scene(world(), { Locked: true });
    expect(scene.patch({ Description: "x" }, { isUser: true })).toEqual(["Locked"]);
    expect(scene.patch({ Description: "x" })).toBe(null);
    expect(scene.patch({ Locked: false, Description: "y" }, { isUser: true })).toBe(null);
    expect(scene.machine).toMatchObject({ Locked: false, Description: "y" });
  });

  test("that changes nothing returns the machine that was there", () => {
    const scene = new Scene(world(), { Params: { deep: { list: [1] } } });
    const before = scene.machine;
    expect(scene.patch({ Params: { deep: { list: [1] } }, Stage: "none" })).toBe(null);
    expect(scene.machine).toBe(before);
  });

  test("stops a machine that is not available, and no longer judges what was there before", () => {
    const scene = new Scene(world(), { Profiles: ["jill"] });
    scene.world.remove("profiles", "jill");
    expect(scene.patch({ Description: "x" })).toBe(null);
    expect(scene.machine).toMatchObject({
      Available: false,
      Runnable: false,
      Errors: ["Profile jill (at 0) does not exist"],
    });
  });

  test("merges the feature flags of stage and boot environment", () => {
    const scene = new Scene(world());
    const flags = (collection: "bootenvs" | "stages", text: string): JsonObject =>
      scene.world.send(collection, { Name: "flagged", Meta: { "feature-flags": text } }) as unknown as JsonObject;
    flags("bootenvs", "zz, sane-exit-codes");
    flags("stages", "aa");
    scene.patch({ BootEnv: "flagged" });
    scene.patch({ Stage: "flagged" });
    expect(scene.machine.Meta["feature-flags"]).toBe("aa,change-stage-v2,sane-exit-codes,zz");
    flags("stages", "original-change-stage");
    scene.patch({ Description: "x" });
    expect(scene.machine.Meta["feature-flags"]).toBe("original-change-stage,sane-exit-codes,zz");
  });

  test("cannot touch what the server computes", () => {
    const scene = new Scene(world());
    const { Uuid, CurrentJob } = scene.machine;
    expect(scene.patch({ Available: false, ReadOnly: true, Bundle: "x", Uuid: "y", CurrentJob: "z" })).toBe(null);
    expect(scene.machine).toMatchObject({ Available: true, ReadOnly: false, Bundle: "BackingStore", Uuid, CurrentJob });
  });
});
