import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jobs, WorkflowPlane, workflows } from "../control-plane.ts";
import { conditionIn, containerOf, jobsOf, Kubelet, labelsOf, stepsOf } from "../kubelet.ts";

// Lines 18 to 24 of the acceptance list: conditions, values, fan-outs, loops and child workflows.

let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

const box = { container: { image: "busybox" } };
const after = (...dependencies: readonly string[]) => ({ ...box, dependencies });
const jobOf = async (step: string) => (await jobsOf(plane)).find((job) => labelsOf(job)["slipway.dev/step"] === step);

describe("line 18: the truth table of when", () => {
  const endings = {
    succeeded: box,
    failed: box,
    forgiven: { ...box, onFailure: "Continue" },
    unwanted: { ...box, when: "false" },
    orphaned: after("failed"),
    canceled: box,
  };
  const table = {
    "success()": ["succeeded", "forgiven", "unwanted"],
    "failure()": ["failed", "orphaned", "canceled"],
    "always()": Object.keys(endings),
    // A condition that names none of the three implies success().
    true: ["succeeded", "forgiven", "unwanted"],
    "": ["succeeded", "forgiven", "unwanted"],
  };

  test("over every way a dependency can end", async () => {
    const gates = Object.keys(table).flatMap((when, gate) =>
      Object.keys(endings).map((ending) => [
        `g${gate}-${ending}`,
        { ...after(ending), ...(when === "" ? {} : { when }) },
      ]),
    );
    await plane.create("wf", { steps: { ...endings, ...Object.fromEntries(gates) } });
    await plane.act("cancel-one", { action: "cancel", step: "canceled" });
    await kubelet.endAll(({ step }) => ({ exitCode: step === "failed" || step === "forgiven" ? 1 : 0 }));
    const phases = await plane.phases("wf");
    expect(phases).toMatchObject({
      succeeded: "Succeeded",
      failed: "Failed/Error",
      forgiven: "Failed/Error",
      unwanted: "Skipped/ConditionFalse",
      orphaned: "Skipped/DependencyFailed",
      canceled: "Canceled/StepCanceled",
    });
    for (const [gate, [when, runs]] of Object.entries(table).entries()) {
      const ran = Object.keys(endings).filter((ending) => phases[`g${gate}-${ending}`] === "Succeeded");
      expect(ran, when).toEqual(Object.keys(endings).filter((ending) => runs.includes(ending)));
    }
  });
});

describe("line 19: outputs", () => {
  test("pass through a chain of three", async () => {
    const takes = (from: string, more: object = {}) => ({
      container: { image: "busybox", args: [`got \${{ steps.${from}.outputs.value }}`] },
      dependencies: [from],
      ...more,
    });
    await plane.create("wf", {
      steps: {
        one: { ...box, outputs: { value: {} } },
        two: takes("one", { outputs: { value: { expression: 'result.value + "!"' } } }),
        three: takes("two"),
      },
      outputs: { last: "steps.two.outputs.value" },
    });
    await kubelet.end("one", { message: "value=hello" });
    expect(containerOf(await jobOf("two"))?.["args"]).toEqual(["got hello"]);
    await kubelet.end("two", { message: '{"value": "hello you"}' });
    expect(containerOf(await jobOf("three"))?.["args"]).toEqual(["got hello you!"]);
    await kubelet.endAll();
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded", outputs: { last: "hello you!" } });
  });

  test("that are missing fail the step that should have given them", async () => {
    await plane.create("wf", { steps: { a: { ...box, outputs: { value: {} } }, b: after("a") } });
    await kubelet.end("a", { message: "other=1" });
    expect(await plane.phases("wf")).toEqual({ a: "Failed/OutputMissing", b: "Skipped/DependencyFailed" });
    expect(await plane.status("wf")).toMatchObject({
      statuses: { a: { message: expect.stringContaining("value") } },
    });
  });
});

test("line 20: what belongs to shells and others stays as it is, and integers stay integers", async () => {
  const script = "echo $(date) {{ x }} ${HOME} $HOME $(VAR)";
  await plane.create("wf", {
    params: [{ name: "n", type: "integer" }],
    arguments: { n: 3 },
    steps: {
      a: {
        jobTemplate: {
          spec: {
            parallelism: "${{ params.n }}",
            template: {
              spec: {
                restartPolicy: "Never",
                containers: [{ name: "main", image: "busybox", args: ["-c", script, "${{ params.n }} and $${{ y }}"] }],
              },
            },
          },
        },
      },
    },
  });
  const job = await jobOf("a");
  expect(job?.["spec"]?.["parallelism"]).toBe(3);
  expect(containerOf(job)?.["args"]).toEqual(["-c", script, "3 and ${{ y }}"]);
});

describe("line 22: the ends of a fan-out's length", () => {
  test("an empty one succeeds, and more than the limit create nothing", async () => {
    const items = Array.from({ length: 257 }, (_, n) => n);
    await plane.create("wf", {
      params: [{ name: "many", type: "array", default: items }],
      steps: {
        none: { ...box, forEach: { items: [] } },
        many: { ...box, forEach: { from: "params.many" } },
        enough: { ...box, forEach: { from: "params.many", limit: 1 }, onFailure: "Continue" },
      },
    });
    expect(await plane.phases("wf")).toEqual({
      none: "Succeeded",
      many: "Failed/TooManyItems",
      enough: "Failed/TooManyItems",
    });
    expect(await jobsOf(plane)).toEqual([]);
  });

  test("10,001 items are too many whatever the limit", async () => {
    const items = Array.from({ length: 10_001 }, (_, n) => n);
    const params = [{ name: "many", type: "array", default: items }];
    await plane.create("wf", { params, steps: { a: { ...box, forEach: { from: "params.many", limit: 10_000 } } } });
    expect(await plane.phases("wf")).toEqual({ a: "Failed/TooManyItems" });
    expect(await jobsOf(plane)).toEqual([]);
    const body = { spec: { steps: { a: { ...box, forEach: { items, limit: 10_001 } } } } };
    const metadata = { name: "written" };
    const typed = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow" };
    const answer = await plane.api.ask("POST", workflows, { body: { ...typed, metadata, ...body } });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain("spec.steps.a.forEach");
  });
});

test("line 23: a matrix with include and exclude", async () => {
  await plane.create("wf", {
    steps: {
      a: {
        container: { image: "busybox", args: ["${{ item.os }}-${{ item.node }}"] },
        forEach: {
          matrix: {
            os: ["linux", "darwin"],
            node: [18, 20],
            include: [{ os: "windows", node: 20 }],
            exclude: [{ os: "darwin", node: 18 }],
          },
        },
      },
    },
  });
  const made = await jobsOf(plane);
  expect(made.map((job) => String(containerOf(job)?.["args"])).sort()).toEqual([
    "darwin-20",
    "linux-18",
    "linux-20",
    "windows-20",
  ]);
  await kubelet.endAll();
  expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
});

describe("line 24: loops and child workflows", () => {
  test("repeat until iteration 3; exhausted fails", async () => {
    const loop = (until: string) => ({ ...box, repeat: { until, maxIterations: 4 } });
    await plane.create("wf", { steps: { three: loop("iteration == 3"), never: loop("false") } });
    const ran = await kubelet.endAll();
    expect(ran.filter((step) => step === "three")).toHaveLength(3);
    expect(ran.filter((step) => step === "never")).toHaveLength(4);
    expect(await plane.phases("wf")).toEqual({ three: "Succeeded", never: "Failed/IterationsExhausted" });
    const rounds = (await jobsOf(plane)).filter((job) => labelsOf(job)["slipway.dev/step"] === "three");
    expect(rounds.map((job) => labelsOf(job)["slipway.dev/iteration"])).toEqual(["1", "2", "3"]);
  });

  const templates = "/apis/slipway.dev/v1alpha1/namespaces/default/workflowtemplates";
  const template = async (name: string, spec: object) => {
    const typed = { apiVersion: "slipway.dev/v1alpha1", kind: "WorkflowTemplate" };
    const answer = await plane.api.ask("POST", templates, { body: { ...typed, metadata: { name }, spec } });
    if (answer.status !== 201) throw new Error(answer.text);
    await plane.settle();
  };

  test("a child by template gives its outputs up", async () => {
    const params = [{ name: "site", required: true }];
    const steps = {
      work: { container: { image: "busybox", args: ["${{ params.site }}"] }, outputs: { image: {} } },
    };
    await template("build", { params, steps, outputs: { image: "steps.work.outputs.image" } });
    const outputs = { image: {} };
    await plane.create("wf", {
      steps: {
        build: { workflow: { templateRef: { name: "build" }, arguments: { site: "edge" } }, outputs },
        use: { container: { image: "busybox", args: ["${{ steps.build.outputs.image }}"] }, dependencies: ["build"] },
      },
    });
    await plane.settle();
    const made = (await plane.list(jobs)).map(containerOf);
    expect(made.map((container) => container?.["args"])).toEqual([["edge"]]);
    await kubelet.end("work", { message: "image=app:7" });
    await plane.pass(1_000);
    expect(containerOf(await jobOf("use"))?.["args"]).toEqual(["app:7"]);
    await kubelet.endAll();
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
  });

  test("a cancel goes down to it", async () => {
    await template("slow", { steps: { work: box, later: after("work") } });
    await plane.create("wf", { steps: { child: { workflow: { templateRef: { name: "slow" } } } } });
    await plane.settle();
    expect(await kubelet.steps()).toEqual(["work"]);
    await plane.act("cancel-all", { action: "cancel" });
    await plane.pass(5_000);
    expect(await kubelet.steps()).toEqual([]);
    expect(await plane.status("wf")).toMatchObject({ phase: "Canceled" });
    const child = (await plane.list(workflows)).find(({ metadata }) => String(metadata?.["name"]) !== "wf");
    expect(child?.["status"]).toMatchObject({ phase: "Canceled" });
  });

  test("the eleventh level is refused", async () => {
    await template("deeper", { steps: { down: { workflow: { templateRef: { name: "deeper" } }, when: "true" } } });
    await plane.create("wf", { steps: { down: { workflow: { templateRef: { name: "deeper" } } } } });
    await plane.pass(30_000);
    expect(await plane.status("wf")).toMatchObject({ phase: "Failed" });
    const all = await plane.list(workflows);
    expect(all).toHaveLength(11);
    const deepest = all.find((one) => labelsOf(one)["slipway.dev/depth"] === "10");
    expect(deepest?.["status"]).toMatchObject({ statuses: { down: { phase: "Failed" } } });
    expect(stepsOf(await plane.list(jobs))).toEqual([]);
    expect(conditionIn(await plane.status("wf"), "Failed")).toMatchObject({ status: "True" });
  });
});
