import { expect, test } from "vitest";
import type { KubeObject } from "#kernel/model/index.ts";
import { dialect } from "./dialect.ts";
import type { BuildStatus } from "./kinds.ts";

const now = Date.parse("2026-01-31T12:00:00Z");

/** Two stages: `a` and `b` together, then `c`. */
const status: BuildStatus = {
  status: "Running",
  workerId: "wharf-cmd-worker-local-7",
  scheduledOn: "2026-01-31T11:59:00Z",
  startedOn: "2026-01-31T11:59:10Z",
  stages: [
    { stageId: 1, name: "build", runsIf: "success", steps: [1, 2], status: "Running" },
    { stageId: 2, name: "deploy", runsIf: "success", steps: [3], status: "None" },
  ],
  steps: [
    {
      stepId: 1,
      stageId: 1,
      name: "a",
      status: "Success",
      exitCode: 0,
      startedAt: "2026-01-31T11:59:10Z",
      finishedAt: "2026-01-31T11:59:30Z",
    },
    {
      stepId: 2,
      stageId: 1,
      name: "b",
      status: "Running",
      exitCode: null,
      startedAt: "2026-01-31T11:59:10Z",
      finishedAt: null,
    },
    { stepId: 3, stageId: 2, name: "c", status: "None" },
  ],
};

const build = (spec: object, is?: BuildStatus): KubeObject => ({
  apiVersion: "wharf.slipway.dev/v1alpha1",
  kind: "Build",
  metadata: { name: "build-7", namespace: "default", uid: "u", creationTimestamp: "2026-01-31T11:59:00Z" },
  spec: { project: "web", buildId: 7, stage: "ALL", ...spec },
  ...(is === undefined ? {} : { status: is }),
});

const { runs } = dialect;

test("steps depend on all steps of the stage before theirs", () => {
  const view = runs.view(build({}, status), []);
  expect(view).toMatchObject({ phase: "Running", nativePhase: "Running", progress: { done: 1, total: 3 } });
  expect(view.steps.map(({ id, name, group, phase, rank }) => [id, name, group, phase, rank])).toEqual([
    ["1", "a", "build", "Succeeded", 0],
    ["2", "b", "build", "Running", 0],
    ["3", "c", "deploy", "Pending", 1],
  ]);
  expect(view.steps[2]).toMatchObject({ dependencies: ["1", "2"], waitingFor: ["2"] });
  expect(runs.graph(build({}, status)).edges).toEqual([
    { from: "1", to: "3" },
    { from: "2", to: "3" },
  ]);
});

test("a step that has begun has a log of the build's own; what was before is a step where no other came", () => {
  const logs = runs.view(build({}, status), []).steps.map((step) => step.logs);
  expect(logs.map((found) => found.map(({ container, isOwn }) => [container, isOwn]))).toEqual([
    [["1", true]],
    [["2", true]],
    [],
  ]);
  const failed = { status: "Failed", reason: "CloneFailed" } as const;
  const prepare = { stepId: 0, stageId: 0, name: "prepare", status: "Failed" } as const;
  for (const told of [{ steps: [prepare] }, { logs: { lines: 2, bytes: 10 } }]) {
    const { steps } = runs.view(build({}, { ...failed, ...told }), []);
    expect(steps).toMatchObject([{ id: "0", name: "prepare", phase: "Failed", logs: [{ container: "0" }] }]);
  }
  const later = runs.view(build({}, { ...status, steps: [prepare, ...(status.steps ?? [])] }), []);
  expect(later.steps.map(({ id }) => id)).toEqual(["1", "2", "3"]);
});

test.each([
  [{}, undefined, "Pending", ["cancel"]],
  [{}, { status: "Scheduling" }, "Pending", ["cancel"]],
  [{}, { status: "Running" }, "Running", ["cancel"]],
  [{ cancel: true }, { status: "Running" }, "Cancelling", []],
  [{ cancel: true }, { status: "Failed", reason: "Canceled" }, "Canceled", []],
  [{ cancel: true }, { status: "Completed" }, "Succeeded", []],
  [{}, { status: "Failed", reason: "StepFailed" }, "Failed", []],
] as const)("a build of %j with %j is %s", (spec, is, phase, actions) => {
  expect(runs.view(build(spec, is), [])).toMatchObject({ phase, actions });
});

test("what was not begun when the build ended is skipped", () => {
  const over: BuildStatus = { ...status, status: "Failed" };
  expect(runs.view(build({}, over), []).steps.map(({ phase }) => phase)).toEqual(["Succeeded", "Running", "Skipped"]);
});

test("a build is described with its steps", () => {
  const text = runs.describe(build({ ref: "main", environment: "stage" }, status), { now });
  expect(text).toMatch(/^Ref: +main$/m);
  expect(text).toMatch(/^Environment: +stage$/m);
  expect(text).toMatch(/^Scheduled: +60s ago$/m);
  expect(text).toMatch(/^1 +build +a +Success +20s +0$/m);
  expect(runs.describe(build({}), { now })).toMatch(/^Steps: {2}none yet$/m);
});

test("a build is asked for again without its number, its name and its end", () => {
  expect(runs.resubmission?.(build({ cancel: true, ref: "main" }, status), { reuse: false })).toEqual({
    apiVersion: "wharf.slipway.dev/v1alpha1",
    kind: "Build",
    metadata: {
      generateName: "build-7-",
      namespace: "default",
      annotations: { "slipway.dev/resubmitted-from": "build-7" },
    },
    spec: { project: "web", stage: "ALL", ref: "main" },
  });
});
