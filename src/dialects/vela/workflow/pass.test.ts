import { expect, test } from "vitest";
import { ConfigMap } from "#kernel/model/index.ts";
import { createRig, step } from "./testing/rig.ts";

const count = { actions: [{ path: "count", use: "test/count" }] };
const broken = { actions: [{ path: "act", use: "test/error" }] };
const waiting = { actions: [{ path: "wait", use: "builtin/wait", value: { $params: { message: "not yet" } } }] };

test("steps run one after another, with one write for each", async () => {
  const rig = await createRig({ steps: [step("a", "count"), step("b", "count")], templates: { count } });
  const { isDone } = await rig.pass();
  expect(isDone).toBe(true);
  expect(rig.calls).toEqual(["a", "b"]);
  expect(rig.phases()).toEqual({ a: "succeeded", b: "succeeded" });
  expect(rig.state.status).toMatchObject({ status: "succeeded", finished: true, stepIndex: 2, suspend: false });
  expect(rig.state.writes).toBe(3);
  expect(rig.step("a").id).toMatch(/^[a-z0-9]{10}$/);
});

test("17.4 a failing step is executed 11 times with the delays of the table, then ends the workflow", async () => {
  const rig = await createRig({ steps: [step("a", "broken"), step("b", "count")], templates: { broken, count } });
  const delays = await rig.run();
  expect(delays.map((ms) => ms / 1000)).toEqual([1, 1, 1, 1, 1, 1, 3, 6, 12, 25]);
  expect(rig.phases()).toEqual({ a: "failed/FailedAfterRetries", b: "skipped/Skip" });
  expect(rig.step("a")).toMatchObject({ attempts: 11, message: "step a: act: broken" });
  expect(rig.state.status).toMatchObject({
    status: "failed",
    terminated: true,
    message: "The workflow terminates automatically because the failed times of steps have reached the limit",
  });
});

test("17.5 a waiting step is never failed, and its delays grow to a minute", async () => {
  const rig = await createRig({ steps: [step("a", "waiting")], templates: { waiting } });
  const delays = await rig.run(30);
  expect(delays.slice(0, 14).map((ms) => ms / 1000)).toEqual([1, 1, 1, 1, 1, 1, 3, 6, 12, 25, 51, 60, 60, 60]);
  expect(rig.step("a")).toMatchObject({ phase: "running", reason: "Wait", message: "not yet", attempts: 1 });
  expect(rig.step("a").failures).toBeUndefined();
});

test("9.8 timeouts strike while a person has suspended the run, also those of groups", async () => {
  const rig = await createRig({
    steps: [
      step("a", "waiting", { timeout: 60_000 }),
      step("g", "step-group", { timeout: 90_000, subSteps: [step("s", "waiting")] }),
      step("b", "waiting"),
    ],
    templates: { waiting },
    mode: "DAG",
  });
  await rig.pass();
  rig.edit({ suspend: true });
  expect(await rig.pass()).toMatchObject({ requeueAfter: 60_000 });
  await rig.clock.advance(60_000);
  expect(await rig.pass()).toMatchObject({ requeueAfter: 30_000 });
  expect(rig.phases()).toMatchObject({ a: "failed/Timeout", s: "suspending/Suspend", b: "suspending/Suspend" });
  await rig.clock.advance(30_000);
  expect((await rig.pass()).requeueAfter).toBeUndefined();
  const timedOut = { a: "failed/Timeout", g: "failed/Timeout", s: "failed/Timeout" };
  expect(rig.phases()).toEqual({ ...timedOut, b: "suspending/Suspend" });
  rig.edit({ suspend: false });
  await rig.pass();
  expect(rig.phases()).toEqual({ ...timedOut, b: "running/Wait" });
});

test("9.4 in DAG mode a sub-step that needs a step outside of its group waits alone", async () => {
  const rig = await createRig({
    steps: [
      step("slow", "hold"),
      step("group", "step-group", {
        subSteps: [
          step("free", "count"),
          step("bound", "count", { dependsOn: ["slow"] }),
          step("asks", "count", { if: 'status["slow"].succeeded' }),
        ],
      }),
    ],
    templates: { count, hold: { actions: [{ path: "hold", use: "op/suspend" }] } },
    mode: "DAG",
  });
  await rig.pass();
  expect(rig.phases()).toMatchObject({ slow: "suspending/Suspend", free: "succeeded", bound: "pending" });
  expect(rig.step("bound").message).toBe("Pending on DependsOn: slow");
  rig.command({ kind: "resume" });
  await rig.pass();
  expect(rig.phases()).toEqual({
    slow: "succeeded",
    group: "succeeded",
    free: "succeeded",
    bound: "succeeded",
    asks: "succeeded",
  });
});

test("bad input: a circle through a sub-step is refused with its steps", async () => {
  const rig = await createRig({
    steps: [
      step("a", "count", { dependsOn: ["group"] }),
      step("group", "step-group", { subSteps: [step("s", "count", { dependsOn: ["a"] })] }),
    ],
    templates: { count },
    mode: "DAG",
  });
  await rig.pass();
  expect(rig.state.status).toMatchObject({ status: "failed", finished: true });
  expect(rig.state.status?.message).toContain("a -> group -> a");
});

test("bad input: a suspend step whose context ConfigMap was deleted does not suspend again", async () => {
  const rig = await createRig({ steps: [step("hold", "suspend"), step("b", "count")], templates: { count } });
  await rig.pass();
  const store = { type: ConfigMap, namespace: "default", name: "workflow-app-context" };
  await rig.client.delete(store);
  rig.command({ kind: "resume" });
  await rig.pass();
  expect(rig.phases()).toEqual({ hold: "succeeded", b: "succeeded" });
});

test("bad input: a step whose variable was deleted with the context ConfigMap is pending and says so", async () => {
  const outputs = [{ name: "x", valueFrom: '"v"' }];
  const inputs = [{ from: "x", parameterKey: "y" }];
  const rig = await createRig({
    steps: [step("a", "count", { outputs }), step("hold", "suspend"), step("b", "count", { inputs })],
    templates: { count },
  });
  await rig.pass();
  await rig.client.delete({ type: ConfigMap, namespace: "default", name: "workflow-app-context" });
  rig.command({ kind: "resume" });
  await rig.pass();
  expect(rig.step("b")).toMatchObject({
    phase: "pending",
    message: "Pending on Input: x, which was set and is gone; restart the workflow",
  });
});
