import { afterEach, expect, test } from "vitest";
import { controllerOf, Job } from "#kernel/model/index.ts";
import type { WorkflowSpec } from "./kinds.ts";
import { Harness, type HarnessOptions, job, namespace } from "./testing/harness.ts";

let open: Harness | undefined;
function start(options?: HarnessOptions): Harness {
  open = new Harness(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const condition = async (run: Harness, type: string) =>
  (await run.status()).conditions?.find((candidate) => candidate.type === type);

const diamond: WorkflowSpec = {
  steps: {
    one: job(),
    two: job({ dependencies: ["one"] }),
    three: job({ dependencies: ["one"] }),
    four: job({ dependencies: ["two", "three"] }),
    apart: job(),
  },
};
/** `a` before `b` before `c`, and `x` by itself. */
const chain: WorkflowSpec = {
  steps: { a: job(), b: job({ dependencies: ["a"] }), c: job({ dependencies: ["b"] }), x: job() },
};

test("a diamond and a step apart run in the order of their edges and complete", async () => {
  const run = start();
  await run.create(diamond);
  expect(await run.active()).toEqual(["apart", "one"]);
  await run.end("one");
  expect(await run.active()).toEqual(["apart", "three", "two"]);
  await run.end("two");
  expect(await run.active()).toEqual(["apart", "three"]);
  await run.end("three");
  expect(await run.active()).toEqual(["apart", "four"]);
  await run.end("four");
  await run.end("apart");
  const status = await run.status();
  expect(status).toMatchObject({ phase: "Succeeded", progress: "5/5", completionTime: expect.any(String) });
  expect(await condition(run, "Complete")).toMatchObject({ status: "True", lastProbeTime: expect.any(String) });
  expect(await condition(run, "Failed")).toMatchObject({ status: "False" });
  expect(Object.values(status.statuses ?? {}).map(({ complete }) => complete)).toEqual([true, true, true, true, true]);
});

test("Jobs carry the labels of selector, template and step, on the pod template too, and are owned", async () => {
  const run = start();
  const workflow = await run.create({
    selector: { matchLabels: { team: "edge" } },
    steps: {
      a: {
        jobTemplate: {
          metadata: { labels: { own: "x" }, annotations: { note: "kept" } },
          spec: {
            ttlSecondsAfterFinished: 5,
            template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } },
          },
        },
      },
    },
  });
  const found = await run.jobOf("a");
  const labels = {
    team: "edge",
    own: "x",
    "slipway.dev/workflow": "wf",
    "slipway.dev/workflow-uid": workflow.metadata.uid,
    "slipway.dev/step": "a",
    "slipway.dev/attempt": "1",
  };
  expect(found.metadata.labels).toEqual(labels);
  expect(found.metadata.annotations).toEqual({ note: "kept" });
  expect(controllerOf(found)).toMatchObject({ uid: workflow.metadata.uid, blockOwnerDeletion: true });
  const { own: _ofTheJobAlone, ...ofPods } = labels;
  expect(found.spec).toMatchObject({ template: { metadata: { labels: ofPods } } });
  expect(found.spec).not.toHaveProperty("ttlSecondsAfterFinished");
});

test("containers learn who they are, unless the document says otherwise", async () => {
  const run = start();
  await run.create({
    steps: { a: { container: { image: "busybox", env: [{ name: "SLIPWAY_STEP", value: "mine" }] } } },
  });
  expect((await run.jobOf("a")).spec).toMatchObject({
    backoffLimit: 0,
    template: {
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            image: "busybox",
            env: [
              { name: "SLIPWAY_WORKFLOW", value: "wf" },
              { name: "SLIPWAY_ATTEMPT", value: "1" },
              { name: "SLIPWAY_OUTPUT", value: "/dev/termination-log" },
              { name: "SLIPWAY_STEP", value: "mine" },
            ],
          },
        ],
      },
    },
  });
});

test("a chain of n short steps costs n + 1 status writes", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: job({ dependencies: ["a"] }), c: job({ dependencies: ["b"] }) } });
  await run.endAll();
  expect((await run.status()).phase).toBe("Succeeded");
  expect(run.statusWrites).toBe(4);
});

test("a step that stays alive is written as Running after half a second, with the uid of its child", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  expect(await run.phases()).toEqual({ a: "Starting" });
  await run.pass(499);
  expect(await run.phases()).toEqual({ a: "Starting" });
  await run.pass(20);
  expect(await run.phases()).toEqual({ a: "Running" });
  const { uid, name } = (await run.jobOf("a")).metadata;
  expect((await run.status()).statuses?.["a"]?.reference).toEqual({
    apiVersion: "batch/v1",
    kind: "Job",
    name,
    uid,
  });
  expect(run.statusWrites).toBe(2);
});

test("a failed step skips its dependants, independent branches complete, and the workflow names the step", async () => {
  const run = start();
  await run.create(chain);
  await run.end("a", { exitCode: 3, message: "disk is on fire" });
  await run.end("x");
  expect(await run.phases()).toEqual({
    a: "Failed/Error",
    b: "Skipped/DependencyFailed",
    c: "Skipped/DependencyFailed",
    x: "Succeeded",
  });
  expect(await condition(run, "Failed")).toMatchObject({
    status: "True",
    reason: "StepFailed",
    message: 'step "a" failed: exit code 3: disk is on fire',
  });
});

test("Drain starts nothing new but lets what runs end", async () => {
  const run = start();
  await run.create({ failureStrategy: "Drain", steps: { a: job(), x: job(), y: job({ dependencies: ["x"] }) } });
  await run.end("a", { exitCode: 1 });
  expect(await run.active()).toEqual(["x"]);
  await run.end("x");
  expect(await run.phases()).toEqual({ a: "Failed/Error", x: "Succeeded", y: "Skipped/RunFailing" });
  expect((await run.status()).phase).toBe("Failed");
});

test("Cancel ends what runs", async () => {
  const run = start();
  await run.create({ failureStrategy: "Cancel", steps: { a: job(), x: job(), y: job({ dependencies: ["x"] }) } });
  await run.end("a", { exitCode: 1 });
  expect(await run.phases()).toEqual({ a: "Failed/Error", x: "Canceled/RunFailing", y: "Skipped/RunFailing" });
  expect(await run.active()).toEqual([]);
});

test("a forgiven failure lets dependants run and the workflow succeed, and stays visible", async () => {
  const run = start();
  await run.create({ steps: { a: job({ onFailure: "Continue" }), b: job({ dependencies: ["a"] }) } });
  await run.end("a", { exitCode: 1 });
  await run.end("b");
  expect(await run.phases()).toEqual({ a: "Failed/Error", b: "Succeeded" });
  expect(await run.status()).toMatchObject({ phase: "Succeeded", statuses: { a: { complete: true } } });
});

test("the deadline of the workflow ends its Jobs, cancels its steps and fails it", async () => {
  const run = start();
  await run.create({ activeDeadlineSeconds: 3, steps: { a: job(), b: job({ dependencies: ["a"] }) } });
  await run.pass(3_100);
  expect(await run.jobs()).toEqual([]);
  expect(await run.phases()).toEqual({ a: "Canceled/DeadlineExceeded", b: "Canceled/DeadlineExceeded" });
  expect(await condition(run, "Failed")).toMatchObject({ status: "True", reason: "DeadlineExceeded" });
  expect(run.reasons()).toContain("DeadlineExceeded");
});

test("a deadline that is raised in time lets the run go on", async () => {
  const run = start();
  await run.create({ activeDeadlineSeconds: 3, steps: { a: job() } });
  await run.pass(2_000);
  await run.edit({ activeDeadlineSeconds: 60 });
  await run.pass(5_000);
  await run.end("a");
  expect((await run.status()).phase).toBe("Succeeded");
});

test("the four events of the proposal appear once each and in order", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.end("a");
  await run.store.delete({ type: (await import("./kinds.ts")).Workflow, namespace, name: "wf" });
  await run.settle();
  const ours = ["WorkflowCreated", "WorkflowStarted", "WorkflowEnded", "WorkflowDeleted"];
  expect(run.reasons().filter((reason) => ours.includes(reason))).toEqual(ours);
  expect(run.reasons()).toEqual([
    "WorkflowCreated",
    "WorkflowStarted",
    "StepStarted",
    "StepSucceeded",
    "WorkflowEnded",
    "WorkflowDeleted",
  ]);
});

test("a foreign Job with the name of a child is a NameConflict and is left alone", async () => {
  const first = start();
  await first.create({ steps: { a: job({ dependencies: ["x"] }), x: job() } });
  const { childName } = await import("./child-names.ts");
  const { uid } = (await first.workflow()).metadata;
  const name = childName({ workflow: "wf", uid, step: "a", attempt: 1 });
  await first.store.create(Job, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace, labels: { mine: "x" } },
  });
  await first.end("x");
  expect(await first.phases()).toEqual({ a: "Failed/NameConflict", x: "Succeeded" });
  expect((await first.store.get({ type: Job, namespace, name })).metadata.labels).toEqual({ mine: "x" });
});

test("an object without controller that bears the child's name and labels is adopted", async () => {
  const run = start();
  await run.create({ steps: { a: job({ dependencies: ["x"] }), x: job() } });
  const { childLabels, childName } = await import("./child-names.ts");
  const { uid } = (await run.workflow()).metadata;
  const id = { workflow: "wf", uid, step: "a", attempt: 1 };
  const metadata = { name: childName(id), namespace, labels: childLabels(id) };
  await run.store.create(Job, { apiVersion: "batch/v1", kind: "Job", metadata });
  await run.end("x");
  expect(controllerOf(await run.jobOf("a"))?.uid).toBe(uid);
  await run.end("a");
  expect((await run.status()).phase).toBe("Succeeded");
});

test("a foreign Job that bears the workflow's uid is not counted, not deleted, and reported once", async () => {
  const run = start();
  const { metadata } = await run.create({ steps: { a: job() } });
  const labels = { "slipway.dev/workflow-uid": metadata.uid, "slipway.dev/workflow": "wf" };
  await run.store.create(Job, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "stranger", namespace, labels },
  });
  await run.pass(1_000);
  expect(run.reasons().filter((reason) => reason === "UnexpectedChild")).toHaveLength(1);
  await run.end("a");
  expect((await run.status()).phase).toBe("Succeeded");
  expect((await run.jobs()).map((found) => found.metadata.name)).toContain("stranger");
});

test("a Job deleted by hand is a lost attempt, tried again only where that is allowed", async () => {
  const run = start();
  await run.create({ steps: { a: job({ retry: { limit: 1, on: ["Lost"], initialSeconds: 1 } }), b: job() } });
  await run.pass(600);
  for (const step of ["a", "b"])
    await run.store.delete({ type: Job, namespace, name: (await run.jobOf(step)).metadata.name });
  await run.settle();
  expect(await run.phases()).toEqual({ a: "Waiting/Backoff", b: "Failed/ChildDeleted" });
  await run.pass(1_200);
  expect((await run.jobOf("a")).metadata.labels?.["slipway.dev/attempt"]).toBe("2");
});

test("a Job deleted before it was recorded as running is lost as well, not made again", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  const { name } = (await run.jobOf("a")).metadata;
  await run.store.delete({ type: Job, namespace, name });
  await run.pass(700);
  expect(await run.jobs()).toEqual([]);
  expect(await run.phases()).toEqual({ a: "Failed/ChildDeleted" });
});

test("two retries: three Jobs, delays of 10 and 20 seconds within the jitter, and the failures are kept", async () => {
  const run = start();
  await run.create({ steps: { a: job({ retry: { limit: 2 } }) } });
  const starts = [run.clock.now()];
  for (const wait of [10_000, 20_000]) {
    await run.end("a", { exitCode: 1 });
    expect(await run.phases()).toEqual({ a: "Waiting/Backoff" });
    await run.pass(wait * 0.88);
    expect(await run.active()).toEqual([]);
    await run.pass(wait * 0.24);
    expect(await run.active()).toEqual(["a"]);
    starts.push(run.clock.now());
  }
  await run.end("a");
  const entry = (await run.status()).statuses?.["a"];
  expect(entry).toMatchObject({ phase: "Succeeded", attempt: 3, complete: true });
  expect(entry?.failures?.map(({ attempt, reason, message }) => ({ attempt, reason, message }))).toEqual([
    { attempt: 1, reason: "Error", message: "exit code 1" },
    { attempt: 2, reason: "Error", message: "exit code 1" },
  ]);
  expect(await run.jobs()).toHaveLength(3);
  expect(run.reasons().filter((reason) => reason === "StepRetrying")).toHaveLength(2);
});

test("a retry expression sees exit code and outputs of the failed attempt", async () => {
  const run = start();
  const retry = { limit: 3, expression: 'exitCode == 75 && outputs.again == "yes"', initialSeconds: 1 };
  await run.create({ steps: { a: job({ retry }), b: job({ retry }) } });
  await run.end("a", { exitCode: 75, message: "again=yes" });
  await run.end("b", { exitCode: 1, message: "again=yes" });
  expect(await run.phases()).toEqual({ a: "Waiting/Backoff", b: "Failed/Error" });
});

test("an attempt that takes too long is ended and counts as a failure of its class", async () => {
  const run = start();
  await run.create({
    steps: { a: job({ timeoutSeconds: 5, retry: { limit: 1, on: ["Timeout"], initialSeconds: 1 } }) },
  });
  await run.pass(5_200);
  expect(await run.jobs()).toEqual([]);
  expect(await run.phases()).toEqual({ a: "Waiting/Backoff" });
  await run.pass(1_500);
  await run.end("a");
  expect((await run.status()).phase).toBe("Succeeded");
  expect(run.reasons()).toContain("StepTimedOut");
});

test("a step's own deadline covers its retries", async () => {
  const run = start();
  await run.create({ steps: { a: job({ deadlineSeconds: 8, retry: { limit: 9, initialSeconds: 6, factor: 1 } }) } });
  await run.end("a", { exitCode: 1 });
  await run.pass(9_000);
  expect(await run.phases()).toEqual({ a: "Failed/StepDeadlineExceeded" });
});

test("no more steps than allowed are active at once", async () => {
  const run = start();
  const keys = ["a", "b", "c", "d", "e"];
  await run.create({ parallelism: 2, steps: Object.fromEntries(keys.map((key) => [key, job()])) });
  const seen: number[] = [];
  for (let active = await run.active(); active.length > 0; active = await run.active()) {
    seen.push(active.length);
    await run.end(active[0] ?? "");
  }
  expect(seen).toEqual([2, 2, 2, 2, 1]);
  expect((await run.status()).phase).toBe("Succeeded");
});

test("timers wait without a child: a length of time, an instant, and an expression", async () => {
  const run = start();
  const at = new Date(run.clock.now() + 4_000).toISOString();
  await run.create({
    params: [{ name: "at" }],
    arguments: { at },
    steps: {
      length: { wait: { seconds: 2 } },
      instant: { wait: { until: at } },
      computed: { wait: { until: "params.at" } },
      after: job({ dependencies: ["length", "instant", "computed"] }),
    },
  });
  expect(await run.phases()).toEqual({ computed: "Waiting/Timer", instant: "Waiting/Timer", length: "Waiting/Timer" });
  await run.pass(2_500);
  expect(await run.phases()).toMatchObject({ length: "Succeeded", instant: "Waiting/Timer" });
  await run.pass(2_000);
  expect(await run.active()).toEqual(["after"]);
});

test("expressions keep types, shell and template syntax of others stay untouched", async () => {
  const run = start();
  await run.create({
    params: [{ name: "count", type: "integer" }, { name: "who" }],
    arguments: { count: 3, who: "you" },
    steps: {
      a: {
        jobTemplate: {
          spec: {
            completions: "${{ params.count }}",
            template: {
              spec: {
                restartPolicy: "Never",
                containers: [
                  {
                    name: "main",
                    image: "busybox",
                    args: ["$(date) {{ x }} ${HOME} $${{ y }}", "hi ${{ params.who }} ${{ params.count + 1 }}"],
                  },
                ],
              },
            },
          },
        },
      },
    },
  });
  expect((await run.jobOf("a")).spec).toMatchObject({
    completions: 3,
    template: { spec: { containers: [{ args: ["$(date) {{ x }} ${HOME} ${{ y }}", "hi you 4"] }] } },
  });
});

test("outputs pass through a chain of three, and up to the workflow", async () => {
  const run = start();
  const pass = (from: string) => ({ container: { image: "i", args: [`\${{ steps.${from}.outputs.value }}`] } });
  await run.create({
    steps: {
      one: job({ outputs: { value: {}, twice: { expression: "result.value + result.value" } } }),
      two: { ...pass("one"), dependencies: ["one"], outputs: { value: {} } },
      "the-end": { ...pass("two"), dependencies: ["two"], outputs: { value: { expression: "int(result.value) + 1" } } },
    },
    outputs: { answer: "steps.the_end.outputs.value", first: "steps.one.outputs.twice" },
  });
  await run.end("one", { message: "value=20" });
  expect((await run.jobOf("two")).spec).toMatchObject({ template: { spec: { containers: [{ args: ["20"] }] } } });
  await run.end("two", { message: '{"value": 41}' });
  expect((await run.jobOf("the-end")).spec).toMatchObject({ template: { spec: { containers: [{ args: ["41"] }] } } });
  await run.end("the-end", { message: "value=41" });
  expect(await run.status()).toMatchObject({ phase: "Succeeded", outputs: { answer: 42, first: "2020" } });
});

test("a declared output that is missing fails its step, one with a default does not, unreadable ones say where", async () => {
  const run = start();
  await run.create({
    steps: {
      a: job({ outputs: { x: {} } }),
      b: job({ outputs: { x: { default: "d" } } }),
      c: job({ outputs: { x: {} } }),
    },
  });
  await run.endAll((step) => ({ message: step === "c" ? '{"x": ' : "" }));
  expect(await run.phases()).toEqual({ a: "Failed/OutputMissing", b: "Succeeded", c: "Failed/OutputInvalid" });
  expect((await run.status()).statuses?.["b"]?.outputs).toEqual({ x: "d" });
  expect((await run.status()).statuses?.["c"]?.message).toMatch(/line 1: /);
});

test("outputs that a container's message could not hold fail their step, in either form; nothing is taken of what was cut", async () => {
  const run = start();
  const outputs = { x: {} };
  const repeat = { until: "result.x == '1'" };
  await run.create({
    steps: {
      fits: job({ outputs }),
      lines: job({ outputs }),
      json: job({ outputs }),
      loop: job({ repeat }),
      silent: job(),
    },
  });
  const messages: Record<string, string> = { fits: `x=${"v".repeat(4_090)}`, json: `{"x": "${"é".repeat(2_043)}` };
  await run.endAll((step) => ({ message: messages[step] ?? `x=${"v".repeat(4_094)}` }));
  expect(await run.phases()).toEqual({
    fits: "Succeeded",
    lines: "Failed/OutputTooLarge",
    json: "Failed/OutputTooLarge",
    loop: "Failed/OutputTooLarge",
    silent: "Succeeded",
  });
  expect((await run.status()).statuses?.["lines"]?.message).toContain("as artifacts");
});

test.each([
  ["result.x", "OutputMissing"],
  ["result.list[3]", "OutputMissing"],
  ["1 / result.zero", "ExpressionError"],
  ["result.list + 'a'", "ExpressionError"],
])("an output of %s is %s when it finds nothing there or cannot be computed", async (expression, reason) => {
  const run = start();
  await run.create({ steps: { a: job({ outputs: { o: { expression } } }) } });
  await run.end("a", { message: '{"zero": 0, "list": [1]}' });
  expect(await run.phases()).toEqual({ a: `Failed/${reason}` });
});

test("a step that needs the output of a skipped one is skipped itself; a default saves it", async () => {
  const run = start();
  const uses = (from: string) => ({ container: { image: `\${{ steps.${from}.outputs.x }}` }, dependencies: [from] });
  await run.create({
    steps: {
      no: job({ when: "false", outputs: { x: {} } }),
      maybe: job({ when: "false", outputs: { x: { default: "d" } } }),
      bad: uses("no"),
      good: uses("maybe"),
    },
  });
  expect(await run.phases()).toMatchObject({
    no: "Skipped/ConditionFalse",
    bad: "Skipped/InputUnavailable",
    good: "Starting",
  });
});

test("an expression that fails at run time fails its step", async () => {
  const run = start();
  await run.create({
    params: [{ name: "list", type: "array" }],
    arguments: { list: [] },
    steps: {
      gate: job({ when: 'params.list[0] == "x"' }),
      body: { container: { image: "i", args: ["${{ params.list[0] }}"] } },
    },
  });
  expect(await run.phases()).toEqual({ gate: "Failed/ExpressionError", body: "Failed/ExpressionError" });
  expect((await run.status()).statuses?.["body"]?.message).toMatch(/^args\[0\]: params\.list\[0\]: /);
});

test("a template the server refuses fails its step with the server's words and is not tried again", async () => {
  const run = start();
  await run.create({
    params: [{ name: "name" }],
    arguments: { name: "Not A Name" },
    steps: {
      a: {
        retry: { limit: 3 },
        template: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "${{ params.name }}" } },
      },
    },
  });
  expect(await run.phases()).toEqual({ a: "Failed/InvalidTemplate" });
  expect((await run.status()).statuses?.["a"]?.message).toContain("Not A Name");
});

test("a child whose owner reference is removed by hand counts as gone", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.pass(600);
  const { name } = (await run.jobOf("a")).metadata;
  await run.store.patch(
    { type: Job, namespace, name },
    { type: "merge", body: { metadata: { ownerReferences: null } } },
  );
  await run.settle();
  expect(await run.phases()).toEqual({ a: "Failed/ChildDeleted" });
  expect(await run.jobs()).toHaveLength(1);
});

test("two controllers at once make each child once and come to the same end", async () => {
  const first = start();
  const second = new Harness({ store: first.store, clock: first.clock });
  await first.create(diamond);
  expect([...(await first.endAll())].sort()).toEqual(["apart", "four", "one", "three", "two"]);
  expect((await first.status()).phase).toBe("Succeeded");
  expect(await first.jobs()).toHaveLength(5);
  await second.close();
});

test("the entry of a finished step stays below 300 bytes, a workflow of 1,000 steps below one mebibyte", async () => {
  const run = start();
  const steps = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, n) => [
      `step-${n}`,
      { wait: { seconds: 1 }, ...(n === 0 ? {} : { dependencies: ["step-0"] }) },
    ]),
  );
  await run.create({ steps: { ...steps, "step-0": job() } });
  await run.end("step-0");
  await run.pass(1_200);
  const status = await run.status();
  expect(status).toMatchObject({ phase: "Succeeded", progress: "1000/1000" });
  expect(JSON.stringify(status.statuses?.["step-0"]).length).toBeLessThan(300);
  expect(JSON.stringify(await run.workflow()).length).toBeLessThan(1024 * 1024);
  expect(run.statusWrites).toBe(3);
});
