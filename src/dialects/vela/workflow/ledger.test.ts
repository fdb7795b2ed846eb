import { expect, test } from "vitest";
import { memoryCourier } from "#kernel/couriers/testing/index.ts";
import type { EffectAnswer } from "#kernel/couriers/index.ts";
import { createRig, step } from "./testing/rig.ts";

const action = { path: "post", use: "op/do", value: { method: "POST", url: "http://hooks.test/" } };
const templates = { post: { actions: [action] }, always: { actions: [{ ...action, attributes: ["always"] }] } };

const rigWith = async (type: string, answers: EffectAnswer[]) => {
  const courier = memoryCourier(() => answers.shift() ?? { ok: true, value: { statusCode: 200, body: "" } });
  return { courier, rig: await createRig({ steps: [step("a", type)], templates, courier }) };
};

test("a request that was not sent is sent again", async () => {
  const { rig, courier } = await rigWith("post", [{ ok: false, message: "POST hooks.test: ECONNREFUSED" }]);
  await rig.run();
  expect(rig.phases()).toEqual({ a: "succeeded" });
  expect(courier.sent).toHaveLength(2);
});

test("a request that may have reached its server is not sent again until a restart of the step", async () => {
  const lost: EffectAnswer = { ok: false, message: "POST hooks.test: no answer within 3s", isDone: true };
  const { rig, courier } = await rigWith("post", [lost]);
  await rig.run();
  expect(courier.sent).toHaveLength(1);
  expect(rig.step("a")).toMatchObject({
    phase: "failed",
    reason: "Action",
    message:
      'POST hooks.test: no answer within 3s; it may have been done and is not repeated: "slipway restart --step" sends it again',
  });
  rig.command({ kind: "restart", step: "a" });
  await rig.run();
  expect(courier.sent).toHaveLength(2);
  expect(rig.phases()).toEqual({ a: "succeeded" });
});

test("@always sends again what may have been sent", async () => {
  const { rig, courier } = await rigWith("always", [{ ok: false, message: "POST hooks.test: reset", isDone: true }]);
  await rig.run();
  expect(courier.sent).toHaveLength(2);
  expect(rig.phases()).toEqual({ a: "succeeded" });
});

test("attack: an answer that cannot be stored fails the step for good, and the request is not sent again", async () => {
  const large: EffectAnswer = { ok: true, value: { statusCode: 200, body: "x".repeat(2 * 2 ** 20) } };
  const { rig, courier } = await rigWith("post", [large]);
  await rig.run();
  expect(rig.phases()).toEqual({ a: "failed/Action" });
  expect(rig.step("a").message).toMatch(
    /^POST hooks\.test: the answer of 2049 KiB does not fit .* \(900 KiB\); it may have been done and is not repeated/,
  );
  expect(courier.sent).toHaveLength(1);
  expect(JSON.stringify(await rig.store()).length).toBeLessThan(10_000);
});

test("attack: what a step puts into variables or notes beyond the limit fails the step, and is not stored", async () => {
  const value = { path: "large", value: "x".repeat(2 * 2 ** 20) };
  const patch = { type: "patch", component: "web", value: { text: value.value } };
  const exports = { variable: value, patch };
  for (const [name, given] of Object.entries(exports)) {
    const exporting = { actions: [{ path: "export", use: "op/export", value: given }] };
    const rig = await createRig({ steps: [step("a", "exporting")], templates: { exporting } });
    await rig.run();
    expect(rig.phases(), name).toEqual({ a: "failed/Output" });
    expect(rig.step("a").message).toContain("exceed 900 KiB; the largest is");
    expect(JSON.stringify(await rig.store()).length).toBeLessThan(10_000);
  }
});
