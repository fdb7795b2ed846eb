import { expect, test } from "vitest";
import type { KubeObject } from "#kernel/model/index.ts";
import { describeMachine } from "./describe.ts";
import { refusalOf, viewMachine } from "./view.ts";

const tasks = ["stage:s1", "bootenv:local", "a", "stage:s2", "a"];

const machine = (spec: object, status: object = { writes: 1, available: true, errors: [] }): KubeObject => ({
  apiVersion: "rebar.slipway.dev/v1",
  kind: "Machine",
  metadata: { name: "m", namespace: "rebar", uid: "u" },
  spec: { Uuid: "m-uuid", Name: "m", Tasks: tasks, CurrentTask: -1, Runnable: true, ...spec },
  status,
});

const job = (State: string, CurrentIndex: number, more: object = {}) => ({
  Uuid: "j",
  Task: "a",
  State,
  ExitState: "",
  CurrentIndex,
  StartTime: "2026-01-02T03:04:05Z",
  EndTime: "0001-01-01T00:00:00Z",
  ...more,
});

const phases = (object: KubeObject) => viewMachine(object).steps.map(({ phase }) => phase);

test("a machine at the start of its list waits for its agent", () => {
  const view = viewMachine(machine({}));
  expect([view.phase, view.nativePhase, view.progress]).toEqual(["Pending", "Runnable", { done: 0, total: 5 }]);
  expect(view.steps.map(({ id, group }) => [id, group])).toEqual([
    ["stage:s1", undefined],
    ["bootenv:local", undefined],
    ["a", "s1"],
    ["stage:s2", undefined],
    ["a#2", "s2"],
  ]);
  expect(view.steps[0]).toMatchObject({ phase: "Waiting", reason: "Agent" });
  expect([view.title, viewMachine(machine({ Name: "rack-1" })).title]).toEqual([undefined, "rack-1"]);
});

test.each([
  ["created", true, "Running", ["Succeeded", "Succeeded", "Starting", "Pending", "Pending"]],
  ["running", true, "Running", ["Succeeded", "Succeeded", "Running", "Pending", "Pending"]],
  ["finished", true, "Running", ["Succeeded", "Succeeded", "Succeeded", "Waiting", "Pending"]],
  ["failed", false, "Failed", ["Succeeded", "Succeeded", "Failed", "Pending", "Pending"]],
  ["failed", true, "Running", ["Succeeded", "Succeeded", "Waiting", "Pending", "Pending"]],
  ["incomplete", false, "Suspended", ["Succeeded", "Succeeded", "Suspended", "Pending", "Pending"]],
])("a job that is %s on a machine that is Runnable: %s shows as %s", (state, Runnable, phase, steps) => {
  const object = machine({ CurrentTask: 2, Runnable, currentJobRecord: job(state, 2) });
  expect(viewMachine(object).phase).toBe(phase);
  expect(phases(object)).toEqual(steps);
});

test("a canceled job shows as canceled, and the machine can be resumed or begin anew", () => {
  const object = machine({
    CurrentTask: 2,
    Runnable: false,
    currentJobRecord: job("failed", 2, { ExitState: "stop" }),
  });
  expect(viewMachine(object)).toMatchObject({ phase: "Canceled", actions: ["retry", "resume"] });
});

test("after a change of the stage the entry with the cursor is done", () => {
  const object = machine({ CurrentTask: 3, currentJobRecord: job("finished", 3, { Task: "stage:s2" }) });
  expect(phases(object)).toEqual(["Succeeded", "Succeeded", "Succeeded", "Succeeded", "Waiting"]);
});

test("a machine with a done list has succeeded, one without tasks is idle", () => {
  expect(viewMachine(machine({ CurrentTask: 5 }))).toMatchObject({ phase: "Succeeded", nativePhase: "Complete" });
  expect(viewMachine(machine({ Tasks: [], CurrentTask: 0 }))).toMatchObject({
    phase: "Succeeded",
    nativePhase: "Idle",
  });
});

test("what kubectl wrote is pending until the server has completed it, and a refusal is told", () => {
  expect(viewMachine(machine({ CurrentTask: undefined }, {})).phase).toBe("Pending");
  const refused = machine({ CurrentTask: undefined }, { errors: ["Workflow x does not exist"] });
  expect(viewMachine(refused).phase).toBe("Failed");
  expect(refusalOf(refused)).toBe("Workflow x does not exist");
});

test("why a machine is not Runnable: its last job says it", () => {
  const object = machine({
    CurrentTask: 2,
    Runnable: false,
    currentJobRecord: job("finished", 2, { ExitState: "reboot", EndTime: "2026-01-02T03:04:06Z" }),
  });
  expect(viewMachine(object).message).toBe(
    "the machine is not Runnable: task a asked for reboot at 2026-01-02T03:04:06Z; resume it so that its agent continues",
  );
});

test("the description has the task list with the cursor", () => {
  const text = describeMachine(machine({ CurrentTask: 2, currentJobRecord: job("running", 2) }), { now: 0 });
  expect(text).toMatch(/^> +a +Running/m);
  expect(text).toMatch(/^Runnable: +yes$/m);
});

test("a run begins when its task list is begun, ends with its last job, and shows what each entry waits for", () => {
  const status = { writes: 3, available: true, errors: [], begun: "2026-01-02T03:04:05Z" };
  const last = job("finished", 4, { EndTime: "2026-01-02T03:04:07Z" });
  expect(viewMachine(machine({ CurrentTask: 5, currentJobRecord: last }, status))).toMatchObject({
    startedAt: Date.parse("2026-01-02T03:04:05Z"),
    finishedAt: Date.parse("2026-01-02T03:04:07Z"),
  });
  const running = viewMachine(machine({ CurrentTask: 2, currentJobRecord: job("running", 2) }, status));
  expect(running.steps.map(({ waitingFor }) => waitingFor)).toEqual([[], [], [], ["a"], ["stage:s2"]]);
});

test("a machine with a UUID for a name is described with its title", () => {
  const named = (Name: string) => describeMachine(machine({ Name }), { now: 0 });
  expect(named("web-2")).toMatch(/^Title: +web-2$/m);
  expect(named("m")).not.toContain("Title:");
});

test("entries that are done have the times of their jobs, and those that were tried again their attempts", () => {
  const begun = Date.parse("2026-01-02T03:04:05Z");
  const status = {
    writes: 9,
    available: true,
    errors: [],
    begun: "2026-01-02T03:04:05Z",
    times: "1:0+0 2:1000+2000! 2:5000+500 4:6000+100!",
  };
  const again = job("running", 4, { StartTime: "2026-01-02T03:04:15Z" });
  const object = machine({ CurrentTask: 4, currentJobRecord: again }, status);
  const [, boot, first, , second] = viewMachine(object).steps;
  expect(boot).toMatchObject({ startedAt: begun, finishedAt: begun, attempt: 1 });
  expect(first).toMatchObject({
    attempt: 2,
    startedAt: begun + 1000,
    attemptAt: begun + 5000,
    finishedAt: begun + 5500,
    earlier: [{ attempt: 1, startedAt: begun + 1000, finishedAt: begun + 3000, reason: "Failed" }],
  });
  expect(second).toMatchObject({ attempt: 2, startedAt: begun + 6000, attemptAt: begun + 10_000 });
  expect(second).not.toHaveProperty("finishedAt");
  expect(describeMachine(object, { now: begun + 20_000 })).toMatch(/^ +a +Succeeded +19s +4s +2/m);
});
