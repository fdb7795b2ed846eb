import { expect, test } from "vitest";
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
