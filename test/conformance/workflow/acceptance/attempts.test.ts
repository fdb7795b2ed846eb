import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";
import type { Json } from "#kernel/apiserver/testing/index.ts";
import { types, WorkflowPlane, workflows } from "../control-plane.ts";
import { conditionIn, containerOf, jobsOf, Kubelet, labelsOf, stepsOf } from "../kubelet.ts";

// Lines 17, 26, 27, 28 and 29 of the acceptance list: tried again, held up, ended, and run again.

let plane: WorkflowPlane;
let kubelet: Kubelet;
let line: CommandLine;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
  line = await commandLine({ client: plane.api.server.client(), clock: plane.clock });
});
afterEach(async () => {
  await line.close();
  await plane.close();
});

const box = { container: { image: "busybox" } };
const after = (...dependencies: readonly string[]) => ({ ...box, dependencies });
let acts = 0;
const act = (action: string, more: object = {}) => plane.act(`act-${(acts += 1)}`, { action, ...more });
const edit = async (spec: object) => {
  const answer = await plane.api.ask("PATCH", `${workflows}/wf`, {
    bytes: JSON.stringify({ spec }),
    headers: types.merge,
  });
  if (answer.status !== 200) throw new Error(answer.text);
  await plane.settle();
};
const failed = async () => conditionIn(await plane.status("wf"), "Failed");

test("line 17: two failures and a success, with delays of 10 and 20 seconds", async () => {
  await plane.create("wf", { steps: { a: { ...box, retry: { limit: 2 } } } });
  const startedAt = async () => plane.clock.now() - Date.UTC(2026, 0, 1);
  const starts: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    while ((await kubelet.running()).length === 0) await plane.pass(250);
    starts.push(await startedAt());
    await kubelet.end("a", { exitCode: attempt < 3 ? 1 : 0 });
  }
  const [first = 0, second = 0, third = 0] = starts;
  // Jitter is a tenth either way; what the test looks at comes in quarters of a second.
  expect(second - first).toBeGreaterThanOrEqual(9_000);
  expect(second - first).toBeLessThanOrEqual(11_500);
  expect(third - second).toBeGreaterThanOrEqual(18_000);
  expect(third - second).toBeLessThanOrEqual(22_500);
  expect((await jobsOf(plane)).map((job) => labelsOf(job)["slipway.dev/attempt"])).toEqual(["1", "2", "3"]);
  expect(await plane.phases("wf")).toEqual({ a: "Succeeded" });
  expect(await plane.status("wf")).toMatchObject({ statuses: { a: { attempt: 3, failures: [{}, {}] } } });
});

describe("line 26: suspension", () => {
  test("at creation", async () => {
    await plane.create("wf", { suspend: true, activeDeadlineSeconds: 60, steps: { a: box } });
    await plane.pass(600_000);
    expect(await jobsOf(plane)).toEqual([]);
    expect(conditionIn(await plane.status("wf"), "Suspended")).toMatchObject({ status: "True" });
    await edit({ suspend: false });
    expect(await kubelet.steps()).toEqual(["a"]);
    await plane.pass(55_000);
    expect(await plane.status("wf")).toMatchObject({ phase: "Running" });
    await plane.pass(10_000);
    expect(await failed()).toMatchObject({ status: "True", reason: "DeadlineExceeded" });
  });

  test("in the middle: children go on, nothing starts, and no deadline runs", async () => {
    await plane.create("wf", {
      activeDeadlineSeconds: 60,
      steps: { a: box, b: { ...after("a"), deadlineSeconds: 30 } },
    });
    await plane.pass(20_000);
    await edit({ suspend: true });
    expect(await kubelet.steps()).toEqual(["a"]);
    await kubelet.end("a");
    expect(await kubelet.steps()).toEqual([]);
    await plane.pass(600_000);
    expect(await plane.status("wf")).toMatchObject({ phase: "Suspended" });
    await edit({ suspend: false });
    expect(await kubelet.steps()).toEqual(["b"]);
    await plane.pass(28_000);
    expect(await plane.status("wf")).toMatchObject({ phase: "Running", suspendedSeconds: expect.closeTo(600, 0) });
    await kubelet.endAll();
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
  });

  test("in the middle: afterwards the deadline strikes by the time that was not suspended", async () => {
    await plane.create("wf", { activeDeadlineSeconds: 60, steps: { a: box } });
    await plane.pass(20_000);
    await act("suspend");
    await plane.pass(600_000);
    await act("resume");
    await plane.pass(38_000);
    expect(await plane.status("wf")).toMatchObject({ phase: "Running" });
    await plane.pass(4_000);
    expect(await failed()).toMatchObject({ status: "True", reason: "DeadlineExceeded" });
  });

  test("in the middle: a step's own deadline waits with it", async () => {
    const retry = { limit: 1, initialSeconds: 5 };
    await plane.create("wf", { steps: { a: { ...box, deadlineSeconds: 30, retry } } });
    await plane.pass(5_000);
    await act("suspend");
    await kubelet.end("a", { exitCode: 1 });
    await plane.pass(600_000);
    await act("resume");
    expect((await kubelet.running()).map(({ attempt }) => attempt)).toEqual([2]);
    await plane.pass(20_000);
    expect(await plane.phases("wf")).toEqual({ a: "Running" });
    await plane.pass(10_000);
    expect(await plane.phases("wf")).toEqual({ a: "Failed/StepDeadlineExceeded" });
  });

  test("during the final steps, whose deadline waits as well", async () => {
    await plane.create("wf", {
      steps: { a: box },
      finally: { one: box, two: after("one") },
      finallyDeadlineSeconds: 60,
    });
    await kubelet.end("a");
    await plane.pass(20_000);
    await act("suspend");
    await kubelet.end("one");
    await plane.pass(600_000);
    expect(await kubelet.steps()).toEqual([]);
    expect(await plane.status("wf")).toMatchObject({ phase: "Suspended" });
    await act("resume");
    expect(await kubelet.steps()).toEqual(["two"]);
    await plane.pass(37_000);
    expect(await kubelet.steps()).toEqual(["two"]);
    await plane.pass(5_000);
    expect(await plane.phases("wf")).toEqual({ a: "Succeeded", one: "Succeeded", two: "Canceled/DeadlineExceeded" });
    expect(await failed()).toMatchObject({ status: "True", reason: "FinalStepFailed" });
  });
});

describe("line 27: final steps", () => {
  const spec = {
    steps: { a: box, b: after("a") },
    finally: { report: { container: { image: "busybox", args: ["${{ run.phase }}", "${{ run.failed }}"] } } },
  };
  const reported = async () => {
    const report = (await jobsOf(plane)).find((job) => labelsOf(job)["slipway.dev/step"] === "report");
    return containerOf(report)?.["args"];
  };

  test("after success", async () => {
    await plane.create("wf", spec);
    expect(await kubelet.endAll()).toEqual(["a", "b", "report"]);
    expect(await reported()).toEqual(["Succeeded", "[]"]);
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
  });

  test("after failure", async () => {
    await plane.create("wf", spec);
    expect(await kubelet.endAll(({ step }) => ({ exitCode: step === "a" ? 1 : 0 }))).toEqual(["a", "report"]);
    expect(await reported()).toEqual(["Failed", '["a"]']);
    expect(await failed()).toMatchObject({ status: "True", reason: "StepFailed" });
  });

  test("after cancel", async () => {
    await plane.create("wf", spec);
    await act("cancel");
    expect(await kubelet.endAll()).toEqual(["report"]);
    expect(await reported()).toEqual(["Canceled", "[]"]);
    expect(await plane.status("wf")).toMatchObject({ phase: "Canceled" });
  });

  test("after the deadline", async () => {
    await plane.create("wf", { ...spec, activeDeadlineSeconds: 5 });
    await plane.pass(6_000);
    expect(await kubelet.endAll()).toEqual(["report"]);
    expect(await failed()).toMatchObject({ status: "True", reason: "DeadlineExceeded" });
  });

  test("that fail make a run fail that had succeeded, and no failed one better", async () => {
    await plane.create("wf", spec);
    await kubelet.endAll(({ step }) => ({ exitCode: step === "report" ? 1 : 0 }));
    expect(await plane.status("wf")).toMatchObject({ phase: "Failed" });
    expect(await failed()).toMatchObject({ status: "True", reason: "FinalStepFailed" });
    expect(conditionIn(await plane.status("wf"), "Complete")).toMatchObject({ status: "False" });
  });
});

describe("line 28: retry from what failed", () => {
  test("repeats exactly the failed steps and their descendants, in order and within parallelism", async () => {
    await plane.create("wf", {
      parallelism: 1,
      steps: {
        bad: box,
        worse: box,
        after: after("bad", "worse"),
        last: after("after"),
        good: box,
        better: after("good"),
        forbidden: { ...after("good"), when: "false" },
      },
    });
    const before = await kubelet.endAll(({ step }) => ({ exitCode: ["bad", "worse"].includes(step) ? 1 : 0 }));
    expect([...before].sort()).toEqual(["bad", "better", "good", "worse"]);
    const untouched = await plane.status("wf");
    const children = await jobsOf(plane);
    expect(await act("retry")).toMatchObject({ phase: "Done" });
    expect(await failed()).toMatchObject({ status: "False", reason: "Retried" });
    const again: string[] = [];
    for (let live = await kubelet.running(); live.length > 0; live = await kubelet.running()) {
      expect(live).toHaveLength(1);
      again.push(String(live[0]?.step));
      await kubelet.end(String(live[0]?.step));
    }
    expect(again).toEqual(["bad", "worse", "after", "last"]);
    const status = await plane.status("wf");
    expect(status).toMatchObject({ phase: "Succeeded", runNumber: 2 });
    for (const step of ["good", "better", "forbidden"])
      expect(status["statuses"]?.[step]).toEqual(untouched["statuses"]?.[step]);
    const names = (found: readonly Json[]) => found.map((job) => String(job["metadata"]?.["name"]));
    expect(names(await jobsOf(plane))).toEqual(expect.arrayContaining(names(children)));
  });
});

describe("line 29: running again what went well", () => {
  test("retry with steps: [x] repeats x and its descendants", async () => {
    await plane.create("wf", { steps: { w: box, x: after("w"), y: after("x"), z: after("w") } });
    await kubelet.endAll();
    expect(await act("retry", { steps: ["x"] })).toMatchObject({ phase: "Done" });
    expect(await kubelet.endAll()).toEqual(["x", "y"]);
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded", runNumber: 2 });
  });

  test("resubmit --reuse runs what has changed, what comes after it, and nothing else", async () => {
    const script = (text: string, more: object = {}) => ({ container: { image: "busybox", command: [text] }, ...more });
    await plane.create("wf", {
      params: [{ name: "tag", default: "1" }],
      steps: {
        build: script("build", { outputs: { image: {} } }),
        test: script("test", { dependencies: ["build"] }),
        tag: script("tag ${{ params.tag }}", { dependencies: ["build"] }),
        push: script("push", { dependencies: ["tag"] }),
      },
    });
    await kubelet.endAll(() => ({ message: "image=app:7" }));
    const { code, err } = await line.run("resubmit", "wf", "--reuse", "--detach", "--param", "tag=2");
    expect(code, err).toBe(0);
    await plane.settle();
    const again = (await plane.list(workflows)).find(
      ({ metadata }) => metadata?.["annotations"]?.["slipway.dev/resubmitted-from"] !== undefined,
    );
    expect(again?.["metadata"]?.["annotations"]).toMatchObject({ "slipway.dev/resubmitted-from": "wf" });
    const name = String(again?.["metadata"]?.["name"]);
    await kubelet.endAll();
    expect([...stepsOf(await jobsOf(plane, name))].sort()).toEqual(["push", "tag"]);
    expect(await plane.status(name)).toMatchObject({
      phase: "Succeeded",
      statuses: {
        build: { phase: "Succeeded", reason: "Reused", outputs: { image: "app:7" } },
        test: { phase: "Succeeded", reason: "Reused" },
      },
    });
  });
});
