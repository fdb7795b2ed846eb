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
