import { textAt } from "#lib/base/index.ts";
import { describe, expect, test } from "vitest";
import { component, createRig, step } from "./testing/rig.ts";

const count = { actions: [{ path: "count", use: "test/count" }] };
const broken = { actions: [{ path: "act", use: "test/error" }] };
const waiting = { actions: [{ path: "wait", use: "builtin/wait", value: { $params: { message: "not yet" } } }] };
const breaks = { actions: [{ path: "end", use: "op/break", value: { message: "job failed" } }] };
const fails = { actions: [{ path: "end", use: "op/fail", value: { message: "no" } }] };
const templates = { count, broken, waiting, breaks, fails };

describe("17.7 suspending", () => {
  test("a suspend step waits for a person, and suspend=false resumes the run", async () => {
    const rig = await createRig({ steps: [step("hold", "suspend"), step("b", "count")], templates });
    expect(await rig.pass()).toMatchObject({ isDone: false });
    expect(rig.phases()).toEqual({ hold: "suspending/Suspend" });
    expect(rig.state.status).toMatchObject({ status: "suspending", suspend: true });
    expect(await rig.run()).toEqual([]);
    rig.edit({ suspend: false });
    await rig.run();
    expect(rig.phases()).toEqual({ hold: "succeeded", b: "succeeded" });
    expect(rig.state.status).toMatchObject({ status: "succeeded", suspend: false });
  });

  test("a duration resumes by itself at its instant", async () => {
    const rig = await createRig({
      steps: [step("hold", "suspend", { properties: { duration: "2s" } }), step("b", "count")],
      templates,
    });
    expect(await rig.pass()).toMatchObject({ requeueAfter: 2000 });
    await rig.clock.advance(1999);
    expect(await rig.pass()).toMatchObject({ requeueAfter: 1 });
    expect(rig.calls).toEqual([]);
    await rig.clock.advance(1);
    expect(await rig.pass()).toMatchObject({ isDone: true });
  });

  test("several suspensions in one template come one after another, each once", async () => {
    const twice = {
      actions: [
        { path: "first", use: "op/suspend", value: { message: "one" } },
        { path: "count", use: "test/count" },
        { path: "second", use: "op/suspend", value: { message: "two" } },
      ],
    };
    const rig = await createRig({ steps: [step("a", "twice")], templates: { twice } });
    await rig.pass();
    expect(rig.step("a").message).toBe("one");
    rig.command({ kind: "resume", step: "a" });
    await rig.pass();
    expect(rig.step("a")).toMatchObject({ phase: "suspending", message: "two" });
    rig.command({ kind: "resume" });
    await rig.pass();
    expect(rig.phases()).toEqual({ a: "succeeded" });
  });

  test("a person's suspend stops everything, and a resume goes on", async () => {
    const rig = await createRig({ steps: [step("a", "waiting"), step("b", "waiting")], templates, mode: "DAG" });
    await rig.pass();
    rig.edit({ suspend: true });
    expect(await rig.pass()).toEqual({ isDone: false, status: rig.state.status });
    expect(rig.phases()).toEqual({ a: "suspending/Suspend", b: "suspending/Suspend" });
    const { executions } = rig.step("a");
    await rig.clock.advance(600_000);
    await rig.pass({ isWoken: true });
    expect(rig.step("a").executions).toBe(executions);
    rig.edit({ suspend: false });
    await rig.pass();
    expect(rig.phases()).toEqual({ a: "running/Wait", b: "running/Wait" });
  });
});

describe("17.8 terminating", () => {
  test("a terminated run skips what has not started, except always", async () => {
    const steps = [step("a", "waiting"), step("b", "count"), step("c", "count", { if: "always" })];
    const rig = await createRig({ steps, templates });
    await rig.pass();
    rig.edit({ terminated: true });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/Terminate", b: "skipped/Skip", c: "succeeded" });
    expect(rig.state.status).toMatchObject({ status: "terminated", terminated: true, finished: true });
    expect(rig.calls).toEqual(["c"]);
  });

  test("a terminated run whose steps had not begun to fail is terminated", async () => {
    const rig = await createRig({ steps: [step("a", "broken"), step("b", "count")], templates });
    await rig.pass();
    rig.command({ kind: "terminate", message: "rejected: not today" });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/Terminate", b: "skipped/Skip" });
    expect(rig.state.status).toMatchObject({ status: "terminated", message: "rejected: not today" });
  });

  test("a break stops the workflow and keeps its message", async () => {
    const steps = [step("a", "breaks"), step("b", "count"), step("c", "count", { if: "always" })];
    const rig = await createRig({ steps, templates });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/Terminate", b: "skipped/Skip", c: "succeeded" });
    expect(rig.state.status).toMatchObject({ status: "terminated", message: "job failed" });
  });

  test("a fail ends the step for good and the workflow as failed", async () => {
    const steps = [step("a", "fails"), step("b", "count"), step("c", "count", { if: "status.a.failed" })];
    const rig = await createRig({ steps, templates });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/Action", b: "skipped/Skip", c: "succeeded" });
    expect(rig.state.status).toMatchObject({ status: "failed", terminated: true, message: "no" });
  });
});

describe("17.9 restarting", () => {
  test("an emptied status runs everything again", async () => {
    const rig = await createRig({ steps: [step("a", "count"), step("b", "count")], templates });
    await rig.run();
    rig.state.status = {};
    await rig.run();
    expect(rig.calls).toEqual(["a", "b", "a", "b"]);
  });

  test("only a failed step can be restarted, and in a chain all later ones run again", async () => {
    let isBroken = true;
    const flaky = async () => (isBroken ? { kind: "fail" as const, message: "no" } : { kind: "continue" as const });
    const steps = [step("a", "count"), step("b", "flaky"), step("c", "count", { if: "always" })];
    const all = { ...templates, flaky: { actions: [{ path: "act", use: "test/flaky" }] } };
    const rig = await createRig({ steps, templates: all, more: { "test/flaky": flaky } });
    await rig.run();
    expect(() => rig.command({ kind: "restart", step: "a" })).toThrow("step a is not failed");
    isBroken = false;
    rig.command({ kind: "restart", step: "b" });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "succeeded", b: "succeeded", c: "succeeded" });
    expect(rig.calls).toEqual(["a", "c", "c"]);
    expect(rig.state.status).toMatchObject({ status: "succeeded", terminated: false });
  });

  test("in DAG mode dependants run again, and in a group what depends on the sub-step", async () => {
    let isBroken = true;
    const flaky = async () => (isBroken ? { kind: "fail" as const, message: "no" } : { kind: "continue" as const });
    const steps = [
      step("other", "count"),
      step("group", "step-group", {
        subSteps: [step("x", "flaky"), step("y", "count", { dependsOn: ["x"] }), step("z", "count")],
      }),
      step("after", "count", { dependsOn: ["group"] }),
    ];
    const all = { ...templates, flaky: { actions: [{ path: "act", use: "test/flaky" }] } };
    const rig = await createRig({ steps, templates: all, mode: "DAG", more: { "test/flaky": flaky } });
    await rig.run();
    expect(rig.phases()).toMatchObject({
      group: "failed/Action",
      x: "failed/Action",
      y: "skipped/Skip",
      after: "skipped/Skip",
    });
    isBroken = false;
    rig.command({ kind: "restart", step: "x" });
    await rig.run();
    expect(rig.phases()).toMatchObject({ group: "succeeded", x: "succeeded", y: "succeeded", after: "succeeded" });
    expect([...rig.calls].sort()).toEqual(["after", "other", "y", "z"]);
  });
});

test("bad input: a finished workflow takes no commands, and nonsense in the status is overwritten", async () => {
  const rig = await createRig({ steps: [step("a", "waiting"), step("b", "count")], templates });
  await rig.pass();
  rig.edit({ stepIndex: 99 });
  await rig.pass();
  expect(rig.state.status?.stepIndex).toBe(0);
  rig.command({ kind: "terminate" });
  await rig.run();
  expect(() => rig.command({ kind: "suspend" })).toThrow("workflow is finished");
});

describe("17.10 groups", () => {
  const group = (name: string, subSteps: Parameters<typeof step>[2], more: object = {}) =>
    step(name, "step-group", { ...subSteps, ...more });

  test("all sub-steps of a DAG group start in the first pass; the group ends with the last", async () => {
    const subSteps = Array.from({ length: 20 }, (_, index) => step(`s${index}`, index === 0 ? "waiting" : "count"));
    const rig = await createRig({ steps: [group("g", { subSteps })], templates });
    await rig.pass();
    expect(rig.calls).toHaveLength(19);
    expect(rig.phases()).toMatchObject({ g: "running", s0: "running/Wait", s1: "succeeded" });
  });

  test("a StepByStep group is a chain", async () => {
    const subSteps = [step("x", "waiting"), step("y", "count")];
    const rig = await createRig({ steps: [group("g", { subSteps, mode: "StepByStep" })], templates });
    await rig.pass();
    expect(rig.calls).toEqual([]);
    expect(rig.phases()).toMatchObject({ g: "running", x: "running/Wait" });
  });

  test("a suspended sub-step suspends its group", async () => {
    const rig = await createRig({
      steps: [group("g", { subSteps: [step("x", "suspend"), step("y", "count")] })],
      templates,
    });
    await rig.pass();
    expect(rig.phases()).toMatchObject({ g: "suspending/Suspend", x: "suspending/Suspend", y: "succeeded" });
  });

  test("a timeout of a group ends its sub-steps", async () => {
    const subSteps = [step("x", "waiting"), step("y", "suspend"), step("z", "count")];
    const rig = await createRig({
      steps: [
        group("g", { subSteps, timeout: 5_000 }),
        step("after", "count"),
        step("told", "count", { if: "status.g.timeout" }),
      ],
      templates,
    });
    await rig.run();
    expect(rig.phases()).toEqual({
      g: "failed/Timeout",
      x: "failed/Timeout",
      y: "failed/Timeout",
      z: "succeeded",
      after: "skipped/Skip",
      told: "succeeded",
    });
    expect(rig.state.status?.status).toBe("failed");
  });

  test("a group is skipped if all sub-steps are, and succeeds without any", async () => {
    const skipped = [step("x", "count", { if: "false" }), step("y", "count", { if: "false" })];
    const steps = [
      group("g", { subSteps: skipped }),
      group("empty", { subSteps: [] }),
      step("on", "count", { dependsOn: ["g"] }),
      step("off", "count", { dependsOn: ["empty"] }),
    ];
    const rig = await createRig({ steps, templates, mode: "DAG" });
    await rig.run();
    expect(rig.phases()).toMatchObject({ g: "skipped/Skip", empty: "succeeded", on: "skipped/Skip", off: "succeeded" });
    expect(rig.state.status?.status).toBe("succeeded");
  });
});

describe("17.11 gates", () => {
  test("9.3 without if, a step of a chain needs every earlier one", async () => {
    const steps = [step("a", "fails"), step("b", "count", { if: "always" }), step("c", "count")];
    const rig = await createRig({ steps, templates });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/Action", b: "succeeded", c: "skipped/Skip" });
    expect(rig.step("c").message).toBe("skipped because step a is failed");
  });

  test("9.3 with dependsOn, every transitive dependency must have succeeded", async () => {
    const steps = [
      step("a", "fails"),
      step("b", "count", { dependsOn: ["a"], if: "always" }),
      step("c", "count", { dependsOn: ["b"] }),
      step("d", "count", { if: "false" }),
      step("e", "count", { dependsOn: ["d"] }),
      step("free", "count"),
    ];
    const rig = await createRig({ steps, templates, mode: "DAG" });
    await rig.run();
    expect(rig.phases()).toMatchObject({ b: "succeeded", c: "skipped/Skip", e: "skipped/Skip", free: "succeeded" });
    expect(rig.step("e").message).toBe("skipped because step d is skipped");
  });

  test("9.7 a condition reads outputs, hyphenated names and bare words; its error skips the step", async () => {
    const request = { actions: [{ path: "output", use: "test/count", value: { result: { responseCode: 400 } } }] };
    const steps = [
      step("request", "request"),
      step("handle-200", "count", { if: "request.output.responseCode == 200" }),
      step("handle-400", "count", { if: "request.output.responseCode == 400" }),
      step("named", "count", { if: 'status["handle-400"].phase == "succeeded" && steps["handle-200"].skipped' }),
      step("bare", "count", { if: "request.status.phase == succeeded" }),
      step("wrong", "count", { if: "request.output.a.b == 1" }),
    ];
    const rig = await createRig({ steps, templates: { ...templates, request } });
    await rig.run();
    expect(rig.phases()).toMatchObject({
      "handle-200": "skipped/Skip",
      "handle-400": "succeeded",
      named: "succeeded",
      bare: "succeeded",
      wrong: "skipped/Skip",
    });
    expect(rig.step("wrong").message).toMatch(/^pre check error: /);
    expect(rig.state.status?.status).toBe("succeeded");
  });

  test("9.7 in DAG mode a condition waits for an earlier step that it reads", async () => {
    const steps = [step("slow", "waiting", { timeout: 10_000 }), step("b", "count", { if: "status.slow.timeout" })];
    const rig = await createRig({ steps, templates, mode: "DAG" });
    await rig.pass();
    expect(rig.calls).toEqual([]);
    await rig.run();
    expect(rig.phases()).toEqual({ slow: "failed/Timeout", b: "succeeded" });
  });
});

describe("9.9 suspending on failure", () => {
  test("retries used up suspend the run, and a resume gives fresh ones", async () => {
    const rig = await createRig({ steps: [step("a", "broken")], templates, settings: { suspendOnFailure: true } });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/FailedAfterRetries" });
    expect(rig.state.status).toMatchObject({
      status: "suspending",
      suspend: true,
      terminated: false,
      message: "The workflow suspends automatically because the failed times of steps have reached the limit",
    });
    rig.edit({ suspend: false });
    const delays = await rig.run();
    expect(delays.length).toBe(10);
    expect(rig.step("a").attempts).toBe(22);
  });
});

describe("17.12 inputs and outputs", () => {
  const give = {
    actions: [{ path: "output", use: "test/count", value: { result: { $returns: { ip: "10.0.0.1" } } } }],
  };
  const take = { actions: [{ path: "got", use: "test/count", value: { name: "<parameter.env[1].value>" } }] };

  test("an output is found in $returns, and an input pads lists", async () => {
    const steps = [
      step("a", "give", { outputs: [{ name: "ip", valueFrom: "output.ip" }] }),
      step("b", "take", { inputs: [{ from: "ip", parameterKey: "env[1].value" }] }),
    ];
    const rig = await createRig({ steps, templates: { give, take } });
    await rig.run();
    expect(rig.calls).toEqual(["a", "10.0.0.1"]);
    const { map } = await rig.store();
    expect(JSON.parse(textAt(map, "vars") ?? "")).toEqual({ ip: "10.0.0.1" });
  });

  test("a missing output is waited for, until its time is over", async () => {
    const steps = [step("a", "give", { outputs: [{ name: "port", valueFrom: "output.port" }] })];
    const rig = await createRig({ steps, templates: { give } });
    await rig.pass();
    expect(rig.step("a")).toMatchObject({ phase: "running", message: "waiting for output port from output.port" });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/Output" });
  });

  test("a skipped producer gives null, and an unknown variable keeps a step pending", async () => {
    const steps = [
      step("a", "give", { if: "false", outputs: [{ name: "ip", valueFrom: "output.ip" }] }),
      step("b", "count", { inputs: [{ from: "ip", parameterKey: "ip" }] }),
      step("c", "count", { inputs: [{ from: "nothing", parameterKey: "x" }] }),
    ];
    const rig = await createRig({ steps, templates: { give, count } });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "skipped/Skip", b: "succeeded", c: "pending" });
    expect(rig.step("c").message).toBe("Pending on Input: nothing");
  });

  test("17.14 an exported variable is an input of a later step", async () => {
    const exporting = { actions: [{ path: "export", use: "op/export", value: { type: "var", secret: "s1" } }] };
    const take = { actions: [{ path: "got", use: "test/count", value: { name: "<parameter.secret>" } }] };
    const steps = [step("a", "exporting"), step("b", "take", { inputs: [{ from: "secret", parameterKey: "secret" }] })];
    const rig = await createRig({ steps, templates: { exporting, take } });
    await rig.run();
    expect(rig.calls).toEqual(["s1"]);
  });

  test("a variable of another step is not overwritten by another value", async () => {
    const outputs = [{ name: "ip", valueFrom: "context.stepName" }];
    const rig = await createRig({
      steps: [step("a", "count", { outputs }), step("b", "count", { outputs })],
      templates,
    });
    await rig.pass();
    expect(rig.step("b")).toMatchObject({ phase: "failed", reason: "Execute" });
    expect(rig.step("b").message).toContain("conflict: variable ip was set to another value by step a");
  });

  test("17.20 what was read from a Secret is in no ConfigMap and no message", async () => {
    const reading = {
      actions: [
        { path: "read", use: "test/secret" },
        { path: "output", use: "test/count", value: { result: "<read.value>" } },
        { path: "say", use: "op/message", value: { message: "<read.value.password>" } },
      ],
    };
    const steps = [
      step("a", "reading", { outputs: [{ name: "pass", valueFrom: "output.password" }] }),
      step("b", "leak", { inputs: [{ from: "pass", parameterKey: "pass" }] }),
    ];
    const leak = { actions: [{ path: "act", use: "test/error", value: { message: "<parameter.pass>" } }] };
    const secret = async () => ({
      kind: "continue" as const,
      result: { value: { password: "hunter22" } },
      isSensitive: true,
    });
    const rig = await createRig({ steps, templates: { reading, leak }, more: { "test/secret": secret } });
    await rig.run();
    const { map, secret: stored } = await rig.store();
    expect(JSON.stringify([map, rig.state.status])).not.toContain("hunter22");
    expect(Buffer.from(textAt(stored, "vars") ?? "", "base64").toString()).toContain("hunter22");
    expect(rig.step("a").message).toBe("***");
    expect(rig.step("b").message).toBe("step b: act: ***");
  });

  test("bad input: variables over 900 KiB fail the step and are named with their size", async () => {
    const big = { actions: [{ path: "output", use: "test/count", value: { result: "x".repeat(950 * 1024) } }] };
    const steps = [step("a", "big", { outputs: [{ name: "blob", valueFrom: "output" }] })];
    const rig = await createRig({ steps, templates: { big } });
    await rig.run();
    expect(rig.phases()).toEqual({ a: "failed/Output" });
    expect(rig.step("a").message).toContain("the largest is blob with 951 KiB");
  });
});

test("bad input: a broken context store fails the pass with a message", async () => {
  const steps = [step("a", "count", { outputs: [{ name: "n", valueFrom: "context.stepName" }] }), step("b", "waiting")];
  const rig = await createRig({ steps, templates });
  await rig.pass();
  const { items } = await rig.client.list({
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    namespaced: true,
  });
  const store = items.find(({ metadata }) => metadata.name === "workflow-app-context");
  expect(rig.state.status?.contextBackend).toMatchObject({ name: "workflow-app-context", uid: store?.metadata.uid });
  await rig.client.update({ group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true }, {
    ...store,
    data: { vars: "{" },
  } as never);
  await rig.pass();
  expect(rig.state.status).toMatchObject({ status: "failed", finished: true });
  expect(rig.state.status?.message).toContain("restart the workflow");
  rig.command({ kind: "restart" });
  await rig.pass();
  expect(rig.phases()).toEqual({ a: "succeeded", b: "running/Wait" });
});

test("bad input: an unknown action and an unknown step type name the nearest", async () => {
  const typo = { actions: [{ path: "act", use: "kube/aply" }] };
  const rig = await createRig({
    steps: [step("a", "typo"), step("b", "cont")],
    templates: { typo, count },
    mode: "DAG",
  });
  await rig.pass();
  expect(rig.step("a").message).toBe('step a: act: action "kube/aply" is not known; nearest: "kube/apply"');
  expect(rig.step("b").message).toContain(
    'WorkflowStepDefinition "cont" not found in ns default, vela-system; nearest: count',
  );
});

test("17.6 apply-component waits until the component is healthy, and gives its outputs", async () => {
  let isHealthy = false;
  const web = component("web", {
    properties: { image: "x" },
    outputs: [{ name: "image", valueFrom: "output.data.image" }],
  });
  const rig = await createRig({
    steps: [step("web", "apply-component", { properties: { component: "web" } })],
    components: [web],
    health: () => ({ isHealthy, isWorkloadHealthy: isHealthy, message: "0/1 ready", details: {}, traits: [] }),
  });
  await rig.pass();
  expect(rig.step("web")).toMatchObject({ phase: "running", reason: "Wait", message: "wait healthy: 0/1 ready" });
  isHealthy = true;
  await rig.pass({ isWoken: true });
  expect(rig.phases()).toEqual({ web: "succeeded" });
  const { map } = await rig.store();
  expect(JSON.parse(textAt(map, "vars") ?? "")).toEqual({ image: "x" });
});

test("17.13 a task object is annotated, and only its present generation ends the step", async () => {
  const task = { output: { apiVersion: "demo.example.org/v1", kind: "Task", spec: { n: 1 } } };
  const rig = await createRig({
    steps: [step("a", "task"), step("b", "count")],
    templates: { task, count },
    components: [component("web")],
  });
  await rig.pass();
  const ref = {
    type: { group: "demo.example.org", version: "v1", kind: "Task", plural: "tasks", namespaced: true },
    namespace: "default",
    name: "app-a",
  };
  const made = await rig.client.get(ref);
  const annotation = made.metadata.annotations?.["app.oam.dev/workflow-context"] ?? "";
  expect(JSON.parse(annotation)).toMatchObject({
    appName: "app",
    stepName: "a",
    stepId: rig.step("a").id,
    components: { web: { workload: { kind: "ConfigMap", metadata: { name: "web" } } } },
  });
  expect(rig.step("a").resourceRef).toMatchObject({ kind: "Task", name: "app-a" });
  const report = (observedGeneration: number, reason: string) =>
    rig.client.patch(
      ref,
      {
        type: "merge",
        body: { status: { observedGeneration, conditions: [{ type: "workflow-progress", status: "True", reason }] } },
      },
      { subresource: "status" },
    );
  await report(0, "Succeeded");
  await rig.pass({ isWoken: true });
  expect(rig.step("a").phase).toBe("running");
  await report(made.metadata.generation ?? 1, "Succeeded");
  await rig.pass({ isWoken: true });
  expect(rig.phases()).toEqual({ a: "succeeded", b: "succeeded" });
});
