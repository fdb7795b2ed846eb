import { afterEach, expect, test } from "vitest";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { MemoryClient } from "#kernel/kit/testing/index.ts";
import { conflict, Job } from "#kernel/model/index.ts";
import { Workflow, type WorkflowStep } from "./kinds.ts";
import { Harness, type HarnessOptions, job, namespace, Thing } from "./testing/harness.ts";

let open: Harness | undefined;
function start(options: HarnessOptions = {}): Harness {
  open = new Harness(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const condition = async (run: Harness, type: string) =>
  (await run.status()).conditions?.find((candidate) => candidate.type === type);
const after = (...dependencies: readonly string[]) => job({ dependencies });

// When a step runs: three status functions over every way a dependency can end.

const endings: Readonly<Record<string, WorkflowStep>> = {
  succeeded: job(),
  failed: job(),
  forgiven: job({ onFailure: "Continue" }),
  unwanted: job({ when: "false" }),
  orphaned: after("failed"),
};

test.each<[string, Readonly<Record<string, boolean>>]>([
  ["success()", { succeeded: true, failed: false, forgiven: true, unwanted: true, orphaned: false }],
  ["failure()", { succeeded: false, failed: true, forgiven: false, unwanted: false, orphaned: true }],
  ["always()", { succeeded: true, failed: true, forgiven: true, unwanted: true, orphaned: true }],
  ["true", { succeeded: true, failed: false, forgiven: true, unwanted: true, orphaned: false }],
])("the gate %s", async (when, expected) => {
  const run = start();
  const gated = Object.keys(endings).map((key) => [`after-${key}`, job({ dependencies: [key], when })]);
  await run.create({ steps: { ...endings, ...Object.fromEntries(gated) } });
  await run.endAll((step) => ({ exitCode: step === "failed" || step === "forgiven" ? 1 : 0 }));
  const phases = await run.phases();
  expect(Object.fromEntries(Object.keys(expected).map((key) => [key, phases[`after-${key}`] === "Succeeded"]))).toEqual(
    expected,
  );
});

test("a canceled dependency is bad: always() and failure() run after it, success() does not", async () => {
  const run = start();
  await run.create({
    steps: {
      a: job(),
      s: after("a"),
      f: job({ dependencies: ["a"], when: "failure()" }),
      w: job({ dependencies: ["a"], when: "always()" }),
    },
  });
  await run.act("cancel", { step: "a", reason: "wrong place" });
  expect(await run.phases()).toEqual({
    a: "Canceled/StepCanceled",
    s: "Skipped/DependencyFailed",
    f: "Starting",
    w: "Starting",
  });
});

test("a condition sees results of dependencies and parameters", async () => {
  const run = start();
  await run.create({
    params: [{ name: "deploy", type: "boolean" }],
    arguments: { deploy: true },
    steps: {
      build: job({ outputs: { kind: {} } }),
      deploy: job({ dependencies: ["build"], when: 'params.deploy && steps.build.outputs.kind == "release"' }),
    },
  });
  await run.end("build", { message: "kind=snapshot" });
  expect(await run.phases()).toMatchObject({ deploy: "Skipped/ConditionFalse" });
  expect((await run.status()).phase).toBe("Succeeded");
});

// Final steps.

const withFinal = {
  steps: { a: job(), b: after("a") },
  finally: { report: { container: { image: "i", args: ["${{ run.phase }}", "${{ string(size(run.failed)) }}"] } } },
};
const reportArgs = async (run: Harness) => {
  const found = await run.jobOf("report");
  return JSON.stringify(found.spec).match(/"args":(\[[^\]]*\])/)?.[1];
};

test("final steps run after success", async () => {
  const run = start();
  await run.create(withFinal);
  await run.end("a");
  await run.end("b");
  expect(await reportArgs(run)).toBe('["Succeeded","0"]');
  expect((await run.status()).phase).toBe("Running");
  await run.end("report");
  expect((await run.status()).phase).toBe("Succeeded");
});

test("final steps run after failure, and know of it", async () => {
  const run = start();
  await run.create(withFinal);
  await run.end("a", { exitCode: 1 });
  expect(await reportArgs(run)).toBe('["Failed","1"]');
  await run.end("report");
  expect(await condition(run, "Failed")).toMatchObject({ status: "True", reason: "StepFailed" });
});

test("final steps run after cancel, unless it is forced", async () => {
  const run = start();
  await run.create(withFinal);
  await run.act("cancel");
  expect(await reportArgs(run)).toBe('["Canceled","0"]');
  await run.end("report");
  expect(await run.status()).toMatchObject({ phase: "Canceled" });
  expect(await condition(run, "Failed")).toMatchObject({ status: "True", reason: "Canceled" });
});

test("a forced cancel leaves the final steps out", async () => {
  const run = start();
  await run.create(withFinal);
  await run.act("cancel", { force: true });
  expect(await run.phases()).toMatchObject({ a: "Canceled/RunCanceled", report: "Canceled/RunCanceled" });
  expect((await run.status()).phase).toBe("Canceled");
});

test("final steps run after the deadline, under their own", async () => {
  const run = start();
  await run.create({ ...withFinal, activeDeadlineSeconds: 3, finallyDeadlineSeconds: 5 });
  await run.pass(3_100);
  expect(await reportArgs(run)).toBe('["Failed","0"]');
  await run.pass(5_100);
  expect(await run.phases()).toMatchObject({ report: "Canceled/DeadlineExceeded" });
  expect(await condition(run, "Failed")).toMatchObject({ status: "True", reason: "DeadlineExceeded" });
});

test("a final step that fails makes a run that succeeded fail", async () => {
  const run = start();
  await run.create(withFinal);
  await run.end("a");
  await run.end("b");
  await run.end("report", { exitCode: 1 });
  expect(await condition(run, "Failed")).toMatchObject({ status: "True", reason: "FinalStepFailed" });
});

// Suspension.

test("a workflow created suspended starts nothing, and its clock does not run", async () => {
  const run = start();
  await run.create({ suspend: true, activeDeadlineSeconds: 10, steps: { a: job() } });
  expect(await run.active()).toEqual([]);
  expect(await run.status()).toMatchObject({ phase: "Suspended" });
  expect((await run.status()).startTime).toBeUndefined();
  await run.pass(60_000);
  await run.edit({ suspend: false });
  expect(await run.active()).toEqual(["a"]);
  expect(await condition(run, "Suspended")).toMatchObject({ status: "False", reason: "Resumed" });
  await run.pass(9_000);
  expect(await run.active()).toEqual(["a"]);
  await run.pass(1_500);
  expect((await run.status()).phase).toBe("Failed");
});

test("suspended in the middle, running children go on, nothing starts, and the deadline waits", async () => {
  const run = start();
  await run.create({ activeDeadlineSeconds: 10, steps: { a: job(), b: after("a") } });
  await run.pass(4_000);
  await run.act("suspend");
  expect(await condition(run, "Suspended")).toMatchObject({ status: "True" });
  await run.end("a");
  expect(await run.active()).toEqual([]);
  await run.pass(60_000);
  await run.act("resume");
  expect(await run.active()).toEqual(["b"]);
  await run.pass(5_000);
  expect(await run.active()).toEqual(["b"]);
  await run.pass(1_500);
  expect((await run.status()).phase).toBe("Failed");
  expect((await run.status()).suspendedSeconds).toBeCloseTo(60, 0);
  expect(run.reasons()).toEqual(expect.arrayContaining(["WorkflowSuspended", "WorkflowResumed"]));
});

test("suspended during its final steps, a workflow waits before the next of them", async () => {
  const run = start();
  await run.create({ steps: { a: job() }, finally: { one: job(), two: after("one") } });
  await run.end("a");
  await run.act("suspend");
  await run.end("one");
  expect(await run.active()).toEqual([]);
  await run.act("resume");
  expect(await run.active()).toEqual(["two"]);
});

test("resume lifts a suspension that the document asked for", async () => {
  const run = start();
  await run.create({ suspend: true, steps: { a: job() } });
  await run.act("resume");
  expect((await run.workflow()).spec.suspend).toBe(false);
  expect(await run.active()).toEqual(["a"]);
});

// Actions.

test("cancel ends what runs, keeps what succeeded, and answers", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: after("a"), x: job() } });
  await run.end("x");
  await run.act("cancel", { reason: "not today" });
  expect(await run.phases()).toEqual({ a: "Canceled/RunCanceled", b: "Canceled/RunCanceled", x: "Succeeded" });
  expect(await run.action("cancel")).toMatchObject({ phase: "Done", finishTime: expect.any(String) });
  expect(run.reasons().at(-1)).toBe("WorkflowEnded");
});

test("a step that has not started can be skipped; its dependants run", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: after("a"), c: after("b") } });
  await run.act("skip", { step: "b" });
  await run.end("a");
  expect(await run.active()).toEqual(["c"]);
  expect(await run.phases()).toMatchObject({ b: "Skipped/ConditionFalse" });
});

test.each<[string, string, object, RegExp]>([
  ["an unknown step", "cancel", { step: "aa" }, /^there is no step "aa", did you mean "a"$/],
  ["a retry of what runs", "retry", {}, /^the workflow is Running; only a finished one can be retried$/],
  [
    "a skip of what runs",
    "skip",
    { step: "a" },
    /^step "a" is Running; only a step that has not started can be skipped/,
  ],
  ["approval of a step that asks nobody", "approve", { step: "a" }, /^step "a" is not an approval/],
  [
    "another uid",
    "cancel",
    { target: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf", uid: "other" } },
    /^the workflow of uid other is gone/,
  ],
])("%s is refused with the reason", async (_what, action, more, message) => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.act(action, { ...more });
  expect(await run.action(action)).toMatchObject({ phase: "Refused", message: expect.stringMatching(message) });
  expect(await run.active()).toEqual(["a"]);
});

test("an action on a finished run says what would be possible", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.end("a");
  await run.act("suspend");
  expect(await run.action("suspend")).toMatchObject({
    phase: "Refused",
    message: "the workflow is Succeeded; only retry is possible",
  });
});

test("an action for a workflow that does not exist is refused after a moment, and deleted after an hour", async () => {
  const run = start();
  await run.act("cancel");
  expect(await run.action("cancel")).toBeUndefined();
  await run.pass(2_500);
  expect(await run.action("cancel")).toMatchObject({
    phase: "Refused",
    message: 'there is no workflow "wf" in the namespace "default"',
  });
  await run.pass(3_700_000);
  expect(await run.action("cancel")).toBeUndefined();
});

test("several actions take effect in the order they were given", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: after("a") } });
  await Promise.all([
    run.act("suspend", {}, "1-suspend"),
    run.act("resume", {}, "2-resume"),
    run.act("skip", { step: "b" }, "3-skip"),
  ]);
  expect(await run.phases()).toMatchObject({ b: "Skipped/ConditionFalse" });
  expect((await run.status()).phase).toBe("Running");
  for (const name of ["1-suspend", "2-resume", "3-skip"])
    expect(await run.action(name)).toMatchObject({ phase: "Done" });
});

// Retry.

test("retry repeats exactly the failed steps and what depends on them, and leaves a succeeded branch alone", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: after("a"), x: job(), y: after("x") } });
  await run.endAll((step) => ({ exitCode: step === "a" ? 1 : 0 }));
  expect((await run.status()).phase).toBe("Failed");
  const first = await run.jobs();
  await run.act("retry");
  expect(await run.active()).toEqual(["a"]);
  expect(await condition(run, "Failed")).toMatchObject({ status: "False", reason: "Retried" });
  expect(await run.endAll()).toEqual(["a", "b"]);
  expect(await run.status()).toMatchObject({
    phase: "Succeeded",
    runNumber: 2,
    history: [{ runNumber: 1, phase: "Failed", reason: "StepFailed" }],
    statuses: { a: { attempt: 2 }, x: { attempt: 1 } },
  });
  expect(await run.jobs()).toHaveLength(first.length + 2);
  expect(await run.action("retry")).toMatchObject({ phase: "Done", runNumber: 1 });
  expect(run.reasons()).toContain("WorkflowRetried");
});

test("retry of a chosen step of a run that succeeded repeats it and its descendants", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: after("a"), c: after("b"), x: job() } });
  await run.endAll();
  await run.act("retry", { steps: ["b"] });
  expect(await run.endAll()).toEqual(["b", "c"]);
  expect(await run.status()).toMatchObject({ phase: "Succeeded", runNumber: 2 });
});

test("retry of a run that went well needs steps", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.endAll();
  await run.act("retry");
  expect(await run.action("retry")).toMatchObject({
    phase: "Refused",
    message: "no step failed; choose the steps to re-run with --step",
  });
});

// Deletion.

const workflowRef = { type: Workflow, namespace, name: "wf" };

test("a deleted workflow ends its running Jobs, leaves references alone, tells of it, and goes", async () => {
  const run = start();
  await run.store.create(Thing, { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t", namespace } });
  await run.create({
    steps: { a: job(), b: job(), ref: { externalRef: { apiVersion: "example.com/v1", kind: "Thing", name: "t" } } },
    finally: { never: job() },
  });
  await run.end("b");
  await run.store.delete(workflowRef);
  await run.pass(6_000);
  expect(await run.exists()).toBe(false);
  expect(await run.jobs()).toEqual([]);
  expect(await run.store.get({ type: Thing, namespace, name: "t" })).toBeDefined();
  expect(run.reasons().at(-1)).toBe("WorkflowDeleted");
});

test("a deletion whose last write conflicts is told of once", async () => {
  let conflicts = 0;
  const conflicting = (store: MemoryClient): ApiClient =>
    new Proxy(store, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (name !== "patch") return typeof value === "function" ? value.bind(target) : value;
        return async (...given: Parameters<ApiClient["patch"]>) => {
          const isRemoval = given[0].type.kind === "Workflow" && JSON.stringify(given[1]).includes('"finalizers":[]');
          if (isRemoval && conflicts++ < 3) throw conflict(Workflow, "wf", "somebody wrote in between");
          return await target.patch(...given);
        };
      },
    });
  const run = start({ wrap: conflicting });
  await run.create({ steps: { a: job() } });
  await run.store.delete(workflowRef);
  await run.pass(20_000);
  expect(await run.exists()).toBe(false);
  expect(conflicts).toBe(4);
  expect(run.reasons().filter((reason) => reason === "WorkflowDeleted")).toHaveLength(1);
});

test("children stay when the deletion orphans them", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.settle();
  await run.store.delete(workflowRef, { propagationPolicy: "Orphan" });
  await run.settle();
  expect(await run.exists()).toBe(false);
  expect(await run.active()).toEqual(["a"]);
  expect((await run.jobOf("a")).metadata.ownerReferences).toEqual([]);
});

test("a child that cannot go holds the workflow, is reported after five minutes, and can be given up", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  const { name } = (await run.jobOf("a")).metadata;
  await run.store.patch(
    { type: Job, namespace, name },
    { type: "merge", body: { metadata: { finalizers: ["example.com/hold"] } } },
  );
  await run.store.delete(workflowRef);
  await run.pass(290_000);
  expect(run.reasons()).not.toContain("CleanupFailed");
  await run.pass(20_000);
  expect(run.reasons().filter((reason) => reason === "CleanupFailed")).toHaveLength(1);
  expect(await run.exists()).toBe(true);
  const annotations = { "slipway.dev/abandon": "true" };
  await run.store.patch(workflowRef, { type: "merge", body: { metadata: { annotations } } });
  await run.settle();
  expect(await run.exists()).toBe(false);
});

test("a time to live deletes the workflow and its Jobs", async () => {
  const run = start();
  await run.create({ ttlSecondsAfterFinished: 30, steps: { a: job() } });
  await run.endAll();
  await run.pass(29_000);
  expect(await run.exists()).toBe(true);
  await run.pass(2_000);
  expect(await run.exists()).toBe(false);
  expect(await run.jobs()).toEqual([]);
});

test("a Job template's own time to live of 0 loses no outcome", async () => {
  const run = start();
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } };
  await run.create({
    steps: {
      a: { jobTemplate: { spec: { ttlSecondsAfterFinished: 0, template } }, outputs: { x: {} } },
      b: after("a"),
    },
  });
  await run.end("a", { message: "x=1" });
  await run.pass(200);
  expect(await run.phases()).toMatchObject({ a: "Succeeded", b: "Starting" });
  expect(await run.active()).toEqual(["b"]);
  expect(await run.jobs()).toHaveLength(1);
});

// Documents that cannot be run, and documents changed behind admission's back.

test("an invalid workflow says everything that is wrong, starts nothing, and runs once it is corrected", async () => {
  const run = start();
  await run.create({ steps: { a: job({ dependencies: ["b"] }), b: {} } });
  expect(await condition(run, "Invalid")).toMatchObject({ status: "True", reason: "InvalidSpec" });
  expect((await condition(run, "Invalid"))?.message).toContain("spec.steps.b: exactly one of");
  expect(run.reasons()).toEqual(["WorkflowCreated", "InvalidSpec"]);
  expect(await run.active()).toEqual([]);
  await run.edit({ steps: { b: job() } });
  expect(await run.active()).toEqual(["b"]);
  expect(await condition(run, "Invalid")).toMatchObject({ status: "False" });
});

test("a started step that was changed gets no further attempt until it is put back", async () => {
  const run = start();
  await run.create({ steps: { a: job({ retry: { limit: 5, initialSeconds: 1 } }) } });
  await run.edit({ steps: { a: { timeoutSeconds: 99 } } });
  expect(await condition(run, "Invalid")).toMatchObject({ status: "True", reason: "SpecConflict" });
  expect(await run.active()).toEqual(["a"]);
  await run.edit({ steps: { a: { timeoutSeconds: null } } });
  expect(await condition(run, "Invalid")).toMatchObject({ status: "False" });
  await run.edit({ steps: { a: { timeoutSeconds: 98 } } });
  await run.end("a", { exitCode: 1 });
  expect(await run.phases()).toEqual({ a: "Failed/SpecConflict" });
});

test("a step added to a running workflow runs", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.edit({ steps: { late: job({ dependencies: ["a"] }) } });
  await run.end("a");
  expect(await run.active()).toEqual(["late"]);
  await run.end("late");
  expect(await run.status()).toMatchObject({ phase: "Succeeded", progress: "2/2" });
});
